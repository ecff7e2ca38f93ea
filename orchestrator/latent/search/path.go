package search

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"

	"retort/chem"
	"retort/chem/cores"
)

// path is a sequence of molecules from one molecule to another. Along it, the similarity to the first never rises and
// the similarity to the last never falls. The others are crossovers and mutations of the two (decision 0020) that the
// model can read.
type path struct {
	stops          []stop  // with both ends
	endsSimilarity float64 // between the ends
	maxHeavyAtoms  int     // of the ends
}

// stop is a molecule of a path.
type stop struct {
	smiles          string  // canonical
	toFirst, toLast float64 // similarity to the ends
	heavyAtoms      int
}

const (
	// pathCrossovers is the number of crossovers of the two ends, which come first.
	pathCrossovers = 64
	// pathRounds is the number of rounds that then fill gaps between neighbours, with pathOffspring molecules each.
	pathRounds    = 3
	pathOffspring = 96
	// minGap is the share of a path below which a gap is not filled.
	minGap = 1. / 40
	// sizePenalty is the penalty, in similarity, for each heavy atom beyond the larger end. Without it, two copies of
	// an end in one molecule would be a good step towards the other end.
	sizePenalty = 0.03
)

// newPath computes the path between two molecules. It holds one core: see [cores.Run]. The error is the context's.
func newPath(ctx context.Context, model Model, first, last Seed) (*path, error) {
	return cores.Run(ctx, func(ctx context.Context) (*path, error) { return computePath(ctx, model, first, last) })
}

func computePath(ctx context.Context, model Model, first, last Seed) (*path, error) {
	ends := []Seed{first, last}
	endsSimilarity := first.Fingerprint.Tanimoto(&last.Fingerprint)
	p := &path{endsSimilarity: endsSimilarity, maxHeavyAtoms: max(first.HeavyAtoms, last.HeavyAtoms)}
	p.stops = []stop{
		{first.SMILES, 1, endsSimilarity, first.HeavyAtoms},
		{last.SMILES, endsSimilarity, 1, last.HeavyAtoms},
	}
	if endsSimilarity == 1 {
		return p, nil
	}
	seed := pairSeed(first.SMILES, last.SMILES)
	editor := editor{model: model, seeds: ends}
	defer editor.close()
	found := map[string]stop{}
	parents := []chem.Parents{{First: first.SMILES, Second: last.SMILES, Count: pathCrossovers, Seed: seed}}
	for range 1 + pathRounds {
		edits, err := editor.edit(ctx, parents)
		if err != nil {
			return nil, err
		}
		for _, v := range slices.Concat(edits...) {
			found[v.smiles] = stop{
				smiles:     v.smiles,
				toFirst:    v.fingerprint.Tanimoto(&first.Fingerprint),
				toLast:     v.fingerprint.Tanimoto(&last.Fingerprint),
				heavyAtoms: v.heavyAtoms,
			}
		}
		p.choose(found)
		if parents = p.gaps(seed); len(parents) == 0 {
			break
		}
		seed++
	}
	return p, nil
}

// pairSeed derives a seed for random numbers from two molecules.
func pairSeed(first, last string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(first + " " + last))
	return hash.Sum64()
}

// position returns where a molecule is on the path, from 0 for the first to 1 for the last. A molecule as similar to
// one end as to the other is halfway.
func (p *path) position(s *stop) float64 {
	return (s.toLast - s.toFirst + 1 - p.endsSimilarity) / (2 * (1 - p.endsSimilarity))
}

// choose chooses the stops: of all sequences that follows allows, the one with the largest sum of values.
func (p *path) choose(found map[string]stop) {
	candidates := p.candidates(found)
	best := make([]float64, len(candidates)) // largest sum of a sequence that ends with candidate i
	previous := make([]int, len(candidates)) // candidate before i in that sequence
	for i := 1; i < len(candidates); i++ {
		best[i] = math.Inf(-1)
		for j := range i {
			if p.follows(&candidates[j], &candidates[i]) && best[j] > best[i] {
				best[i] = best[j]
				previous[i] = j
			}
		}
		best[i] += p.value(&candidates[i])
	}
	p.stops = p.stops[:0]
	for i := len(candidates) - 1; i > 0; i = previous[i] {
		p.stops = append(p.stops, candidates[i])
	}
	p.stops = append(p.stops, candidates[0])
	slices.Reverse(p.stops)
}

// candidates returns the molecules to choose stops from, both ends included, such that a stop comes after all that it
// may follow.
func (p *path) candidates(found map[string]stop) []stop {
	candidates := []stop{p.stops[0]}
	for _, s := range found {
		if s.toFirst < 1 && s.toFirst > p.endsSimilarity && s.toLast < 1 && s.toLast > p.endsSimilarity {
			candidates = append(candidates, s)
		}
	}
	slices.SortFunc(candidates[1:], func(a, b stop) int {
		return cmp.Or(
			cmp.Compare(b.toFirst, a.toFirst),
			cmp.Compare(a.toLast, b.toLast),
			cmp.Compare(a.smiles, b.smiles),
		)
	})
	return append(candidates, p.stops[len(p.stops)-1])
}

// value returns the value of a molecule on the path: its similarity to both ends, less the penalty for its size.
func (p *path) value(s *stop) float64 {
	return s.toFirst + s.toLast - sizePenalty*float64(max(0, s.heavyAtoms-p.maxHeavyAtoms))
}

// follows reports whether b may come after a.
func (p *path) follows(a, b *stop) bool {
	return b.toFirst <= a.toFirst && b.toLast >= a.toLast && p.position(b)-p.position(a) > minGap/2
}

// gaps returns the parents of molecules that may fill the gaps between neighbours: more for a wider gap.
func (p *path) gaps(seed uint64) []chem.Parents {
	var parents []chem.Parents
	for i := range len(p.stops) - 1 {
		a := &p.stops[i]
		b := &p.stops[i+1]
		gap := p.position(b) - p.position(a)
		if gap < minGap {
			continue
		}
		count := int(math.Ceil(gap * pathOffspring / 2))
		parents = append(parents,
			chem.Parents{First: a.smiles, Second: b.smiles, Count: count, Seed: seed + uint64(4*i)},
			chem.Parents{First: a.smiles, Count: (count + 1) / 2, Seed: seed + uint64(4*i+1)},
			chem.Parents{First: b.smiles, Count: (count + 1) / 2, Seed: seed + uint64(4*i+2)})
	}
	return parents
}

// at returns the canonical SMILES of the molecule nearest to a position, from 0 to 1.
func (p *path) at(position float64) string {
	nearest := 0
	for i := range p.stops {
		if math.Abs(p.position(&p.stops[i])-position) < math.Abs(p.position(&p.stops[nearest])-position) {
			nearest = i
		}
	}
	return p.stops[nearest].smiles
}
