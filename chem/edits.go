package chem

import (
	"context"
	"math/rand/v2"

	"retort/chem/rdkit"
)

// Parents describe one set of offspring.
type Parents struct {
	First  string // SMILES
	Second string // SMILES; "" for mutations of First, otherwise crossovers of both
	// Stereo changes the configuration of a stereocentre, or sets an unspecified one, instead of the graph.
	Stereo bool
	Count  int    // upper bound of the molecules, at most 1024
	Seed   uint64 // the same seed gives the same offspring
}

// maxOffspring is the upper bound of the offspring of one pair of parents.
const maxOffspring = 1024

// roundSize is the upper bound of the molecules that are requested between two checks of the context.
const roundSize = 32

// maxBarrenRounds is the number of consecutive rounds without a new molecule after which the search gives up.
const maxBarrenRounds = 3

// Offspring returns the offspring of many parents, on all cores. The i-th result belongs to the i-th parents; parents
// that are not molecules within the limits have no offspring. The error is the error of ctx.
//
// A mutation is one small random change of the graph: an atom is replaced, added, inserted or deleted; two atoms are
// exchanged; the order of a bond changes; a ring is closed, opened, widened or narrowed; a substituent is added,
// replaced, deleted or moved. A crossover combines a part of each parent, cut at a single bond outside of rings
// (Jensen, Chem. Sci. 10, 3567, 2019).
//
// The offspring of one pair are distinct and differ from the parents. They have at most 60 heavy atoms unless a parent
// has more, and no more unpaired electrons or unlikely bonds (such as O-O, N-Cl, cumulated double bonds) than a parent.
// A change keeps the configurations of the atoms that it does not touch. Atoms that are not of organic chemistry or
// have an isotope or unpaired electrons stay as they are. There are fewer than Count if there are no more, or if more
// are hard to find.
//
// Canonical SMILES, counts and fingerprints are computed in advance.
func Offspring(ctx context.Context, parents []Parents) ([][]*Molecule, error) {
	var editor Editor
	defer editor.Close()
	return editor.Offspring(ctx, parents)
}

// limit returns the upper bound of the offspring.
func (p Parents) limit() int { return min(p.Count, maxOffspring) }

// offspring requests a few molecules per round until there are enough or there seem to be no more. second is nil for
// mutations.
func (p Parents) offspring(ctx context.Context, first, second *rdkit.Parent) []*Molecule {
	var offspring []*Molecule
	random := rand.New(rand.NewPCG(p.Seed, 0))
	seen := map[string]bool{}
	limit := p.limit()
	for barren := 0; len(offspring) < limit && barren < maxBarrenRounds && ctx.Err() == nil; barren++ {
		var round []rdkit.Profile
		var err error
		if second == nil {
			round, err = rdkit.Mutations(first, min(limit, roundSize), p.Stereo, random.Uint64())
		} else {
			round, err = rdkit.Crossovers(first, second, min(limit, roundSize), random.Uint64())
		}
		if err != nil {
			return nil
		}
		for _, facts := range round {
			if !seen[facts.Canonical] && len(offspring) < limit {
				seen[facts.Canonical] = true
				offspring = append(offspring, &Molecule{text: facts.Canonical, have: rdkit.Edited, facts: facts})
				barren = -1
			}
		}
	}
	return offspring
}
