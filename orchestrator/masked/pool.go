package masked

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/cores"
)

const (
	poolBest        = 100 // fragments that remasking draws from
	cutsPerMolecule = 8
	// maxFragments bounds the memory of a pool, about 150 bytes a fragment. A request for 30 molecules, the default,
	// has at most 24,000 fragments; the largest request would have 800,000. The bound does not cost quality: over three
	// requests to the shipped model for 200 molecules in ten rounds (14,000 fragments), the mean QED was 0.9201 without
	// a bound and 0.9208 with one of 2,048.
	maxFragments = 1 << 15
)

// pool has fragments with the mean score of the molecules that contain them. Above its limit it evicts all but the best
// limit/2.
type pool struct {
	limit     int
	fragments map[string]*fragment // by SMILES
}

func newPool(limit int) *pool { return &pool{limit: limit, fragments: map[string]*fragment{}} }

// fragment is a fragment of a pool.
type fragment struct {
	smiles string  // canonical, with one open position
	total  float64 // sum of the scores of the molecules that contain it
	count  int     // of these molecules
}

func (f *fragment) mean() float64 { return f.total / float64(f.count) }

// add cuts each molecule in two, up to cutsPerMolecule times, and adds its score to both halves.
func (p *pool) add(ctx context.Context, candidates []*candidate, seed uint64) error {
	halves, err := cores.Map(ctx, len(candidates), func(i int) ([]string, error) {
		cuts, err := chem.Halves(candidates[i].molecule.SMILES(), cutsPerMolecule, seed)
		if err != nil {
			return nil, nil // too large to cut: no fragments
		}
		return cuts, nil
	})
	if err != nil {
		return err
	}
	for i, c := range candidates { // in order, so that floating-point sums are reproducible
		for _, pair := range halves[i] {
			for half := range strings.SplitSeq(pair, ".") {
				f := p.fragments[half]
				if f == nil {
					f = &fragment{smiles: half}
					p.fragments[half] = f
				}
				f.total += c.score
				f.count++
			}
		}
	}
	p.evict()
	return nil
}

// evict drops the worst fragments of a pool above its limit, down to limit/2 so that evictions are rare.
func (p *pool) evict() {
	if len(p.fragments) <= p.limit {
		return
	}
	for _, f := range p.ranked()[p.limit/2:] {
		delete(p.fragments, f.smiles)
	}
}

// best returns the poolBest fragments of highest mean score, best first.
func (p *pool) best() []*fragment {
	ranked := p.ranked()
	return ranked[:min(poolBest, len(ranked))]
}

// ranked returns all fragments by descending mean score, then by SMILES.
func (p *pool) ranked() []*fragment {
	return slices.SortedFunc(maps.Values(p.fragments), func(a, b *fragment) int {
		return cmp.Or(cmp.Compare(b.mean(), a.mean()), cmp.Compare(a.smiles, b.smiles))
	})
}
