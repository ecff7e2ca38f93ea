package search

import (
	"context"
	"slices"

	"retort/chem"
)

// editor makes molecules by small changes of the graphs of others, and by crossover of two: see
// [chem.Editor.Offspring]. It returns those that a seed admits and the model can read.
type editor struct {
	model  Model
	seeds  []Seed
	editor chem.Editor
}

// close frees memory. The editor must not be used afterwards.
func (e *editor) close() { e.editor.Close() }

// variant is a molecule near one or more seeds.
type variant struct {
	smiles      string  // canonical
	similarity  float64 // to the most similar seed
	fingerprint chem.Fingerprint
	heavyAtoms  int
	predicted   float64 // merit that the surrogate predicts; 0 without a prediction
}

func newVariant(m *chem.Molecule, seeds ...Seed) variant {
	return variant{
		smiles:      m.SMILES(),
		similarity:  similarity(seeds, m),
		fingerprint: m.Fingerprint(),
		heavyAtoms:  m.HeavyAtoms(),
	}
}

// edit returns variants of each of the parents. Those of the same parents are distinct, and none is a seed.
func (e *editor) edit(ctx context.Context, parents []chem.Parents) ([][]variant, error) {
	offspring, err := e.editor.Offspring(ctx, parents)
	if err != nil {
		return nil, err
	}
	variants := make([][]variant, len(offspring))
	for i, molecules := range offspring {
		for _, m := range molecules {
			if e.accepts(m) {
				variants[i] = append(variants[i], newVariant(m, e.seeds...))
			}
		}
	}
	return variants, nil
}

// accepts reports whether a molecule may be a result, is no seed, and can be encoded.
func (e *editor) accepts(m *chem.Molecule) bool {
	isSeed := func(s Seed) bool { return s.SMILES == m.SMILES() }
	if slices.ContainsFunc(e.seeds, isSeed) || !admits(e.seeds, m) {
		return false
	}
	_, err := e.model.Tokens(m.SMILES())
	return err == nil
}
