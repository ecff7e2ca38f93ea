package chem

import (
	"context"
	"math/rand/v2"

	"retort/chem/cores"
	"retort/chem/rdkit"
)

// Parents are what offspring is made of.
type Parents struct {
	First  string // SMILES
	Second string // SMILES; "" for mutations of First, else crossovers of the two
	// Stereo changes the configuration of a stereocentre, or gives one to a centre without, in place of the graph.
	Stereo bool
	Count  int    // molecules wanted, at most [MaxOffspring]
	Seed   uint64 // of the random numbers: the same seed gives the same offspring
}

// MaxOffspring is the most molecules that one pair of parents is asked for; more are not made.
const MaxOffspring = 1024

// offspringAtOnce is how many molecules are made between two looks at the context.
const offspringAtOnce = 32

// Mutations returns up to count molecules, each one small random change of the graph away: an atom replaced, added,
// inserted, deleted; two exchanged; a bond's order changed; a ring closed, opened, widened or narrowed; a substituent
// added, replaced, deleted or moved.
//
// They are canonical SMILES, distinct, and none of them is the molecule. All are molecules that [Parse] reads, with at
// most 60 heavy atoms unless the molecule has more, and with no more unpaired electrons and no more unlikely bonds (such
// as O-O, N-Cl, cumulated double bonds) than the molecule. Configurations that the change does not touch are kept, and
// atoms that are not of organic chemistry, have an isotope or unpaired electrons stay as they are. Fewer than count come
// back where there are no more, or where they are hard to find. The error is as of [Parse].
func Mutations(smiles string, count int, seed uint64) ([]string, error) {
	return Parents{First: smiles, Count: count, Seed: seed}.texts()
}

// Crossovers returns up to count molecules that have a part of the one and a part of the other: each is cut at a single
// bond that is in no ring, and the two are joined there (Jensen, Chem. Sci. 10, 3567, 2019). What holds of the results of
// [Mutations] holds of these.
func Crossovers(first, second string, count int, seed uint64) ([]string, error) {
	return Parents{First: first, Second: second, Count: count, Seed: seed}.texts()
}

// Offspring makes molecules of many parents on all cores. The i-th result belongs to the i-th parents; parents that are
// no molecules have none. Canonical SMILES, counts and fingerprints are there at once. The error is that of the context.
func Offspring(ctx context.Context, parents []Parents) ([][]*Molecule, error) {
	found := make([][]*Molecule, len(parents))
	weight := func(i int) int { return max(1, parents[i].wanted()) }
	err := cores.Chunks(ctx, len(parents), weight, func(ctx context.Context, from, to int) error {
		for i := from; i < to && ctx.Err() == nil; i++ {
			found[i], _ = parents[i].offspring(ctx)
		}
		return ctx.Err()
	})
	return found, err
}

// texts are the canonical SMILES of the offspring.
func (p Parents) texts() ([]string, error) {
	found, err := p.offspring(context.Background())
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(found))
	for i, m := range found {
		texts[i] = m.SMILES()
	}
	return texts, nil
}

// wanted returns the largest number of molecules to make.
func (p Parents) wanted() int { return min(p.Count, MaxOffspring) }

// barrenRounds is after how many requests in a row without a new molecule no more are made.
const barrenRounds = 3

// offspring asks for a few molecules at a time, until there are enough or there seem to be no more.
func (p Parents) offspring(ctx context.Context) (found []*Molecule, err error) {
	first, err := Limits{}.Check(p.First)
	if err != nil {
		return nil, err
	}
	second := ""
	if p.Second != "" {
		if second, err = (Limits{}).Check(p.Second); err != nil {
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(p.Seed, 0))
	known := map[string]bool{}
	wanted := p.wanted()
	for barren := 0; len(found) < wanted && barren < barrenRounds && ctx.Err() == nil; barren++ {
		made, err := p.make(first, second, min(wanted, offspringAtOnce), random.Uint64())
		if err != nil {
			return nil, err
		}
		for _, facts := range made {
			if !known[facts.Canonical] && len(found) < wanted {
				known[facts.Canonical] = true
				found = append(found, &Molecule{text: facts.Canonical, have: rdkit.Edited, facts: facts})
				barren = -1
			}
		}
	}
	return found, nil
}

func (p Parents) make(first, second string, count int, seed uint64) ([]rdkit.Profile, error) {
	if p.Second == "" {
		made, err := rdkit.Mutations(first, count, p.Stereo, seed)
		if err != nil {
			return nil, Explain(p.First, err)
		}
		return made, nil
	}
	made, err := rdkit.Crossovers(first, second, count, seed)
	if err == nil {
		return made, nil
	}
	if _, err := Parse(p.First); err != nil { // one of the two, which the call does not say
		return nil, err
	}
	return nil, Explain(p.Second, err)
}
