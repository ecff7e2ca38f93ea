package masked

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"retort/chem"
)

const (
	poolDrawn       = 100 // the best fragments, of which remasking draws pairs
	cutsPerMolecule = 8
	// maxFragments limits the memory of a pool, about 150 bytes a fragment. A request for 30 molecules, the default, has
	// 24,000 fragments at most; the largest request would have 800,000. The limit does not cost quality: over three
	// requests to the shipped model for 200 molecules in ten rounds (14,000 fragments), the mean QED was 0.9201 without a
	// limit and 0.9208 with a limit of 2,048.
	maxFragments = 1 << 15
)

// pool has the fragments of molecules, with the scores of these molecules. When it has more than limit, it drops all but
// the best limit/2.
type pool struct {
	limit     int
	fragments map[string]*pooled // by canonical SMILES with one open position
}

func newPool(limit int) *pool { return &pool{limit: limit, fragments: map[string]*pooled{}} }

// pooled is a fragment of the pool.
type pooled struct {
	smiles string
	total  float64 // sum of the scores of the molecules it is a fragment of
	count  int     // how many these are
}

func (f *pooled) mean() float64 { return f.total / float64(f.count) }

// byMean orders fragments by descending mean score, then by SMILES.
func byMean(a, b *pooled) int {
	return cmp.Or(cmp.Compare(b.mean(), a.mean()), cmp.Compare(a.smiles, b.smiles))
}

// add cuts molecules in two and counts their scores for both halves.
func (p *pool) add(ctx context.Context, found []*candidate, seed uint64) error {
	halves, err := inParallel(ctx, len(found), func(i int) ([]string, error) {
		cuts, err := chem.Halves(found[i].molecule.SMILES(), cutsPerMolecule, seed)
		if err != nil {
			return nil, nil // a molecule above the limits of cutting has no fragments
		}
		return cuts, nil
	})
	if err != nil {
		return err
	}
	for i, c := range found { // in order, so that sums of scores are reproducible
		for _, both := range halves[i] {
			for half := range strings.SplitSeq(both, ".") {
				f := p.fragments[half]
				if f == nil {
					f = &pooled{smiles: half}
					p.fragments[half] = f
				}
				f.total += c.score
				f.count++
			}
		}
	}
	p.shrink()
	return nil
}

// shrink drops the worst fragments of a pool above its limit, down to half of it, so that the next add rarely has to.
func (p *pool) shrink() {
	if len(p.fragments) <= p.limit {
		return
	}
	all := make([]*pooled, 0, len(p.fragments))
	for _, f := range p.fragments {
		all = append(all, f)
	}
	slices.SortFunc(all, byMean)
	for _, f := range all[p.limit/2:] {
		delete(p.fragments, f.smiles)
	}
}

// best returns the fragments of highest mean score, best first.
func (p *pool) best() []*pooled {
	best := make([]*pooled, 0, poolDrawn+1)
	for _, f := range p.fragments {
		if len(best) == poolDrawn && byMean(best[poolDrawn-1], f) < 0 {
			continue
		}
		place, _ := slices.BinarySearchFunc(best, f, byMean)
		best = slices.Insert(best, place, f)
		best = best[:min(len(best), poolDrawn)]
	}
	return best
}
