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
