package masked

import (
	"cmp"
	"slices"
	"strings"

	"retort/chem"
)

const (
	poolDrawn       = 100 // the best fragments, of which remasking draws pairs
	cutsPerMolecule = 8
)

// pool is the fragments of molecules, by canonical SMILES with one open position, with the scores of the molecules.
type pool map[string]*pooled

// pooled is a fragment of the pool.
type pooled struct {
	smiles string
	total  float64 // sum of the scores of the molecules it is a fragment of
	count  int     // how many these are
}

func (f *pooled) mean() float64 { return f.total / float64(f.count) }

// add cuts molecules in two and counts their scores for both halves.
func (p pool) add(found []*candidate, seed uint64) {
	for _, c := range found {
		halves, err := chem.Halves(c.molecule.SMILES(), cutsPerMolecule, seed)
		if err != nil {
			continue // a molecule above the limits of cutting has no fragments
		}
		for _, both := range halves {
			for half := range strings.SplitSeq(both, ".") {
				if p[half] == nil {
					p[half] = &pooled{smiles: half}
				}
				p[half].total += c.score
				p[half].count++
			}
		}
	}
}

// best are the fragments of highest mean score, equal ones in the order of their SMILES.
func (p pool) best() []*pooled {
	all := make([]*pooled, 0, len(p))
	for _, f := range p {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *pooled) int {
		return cmp.Or(cmp.Compare(b.mean(), a.mean()), cmp.Compare(a.smiles, b.smiles))
	})
	return all[:min(poolDrawn, len(all))]
}
