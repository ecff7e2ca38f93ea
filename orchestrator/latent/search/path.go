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

// Path is a row of molecules that leads from one molecule to another: with each step they are less similar to the
// first, or more similar to the last, and never the other way round. They are made of parts of both and small changes of
// these (crossovers and mutations, decision 0020), all of them molecules that the model can read.
type Path struct {
	stops []stop  // the ends are the two molecules
	apart float64 // similarity of the ends
	size  int     // heavy atoms of the larger end
}

// stop is a molecule of a path.
type stop struct {
	smiles          string  // canonical
	toFirst, toLast float64 // Tanimoto similarity to the ends
	heavyAtoms      int
}

const (
	// pathCrossovers is how many crossovers of the two ends a path begins with.
	pathCrossovers = 64
	// pathRounds is how often molecules are made between neighbours of a path, pathOffspring in each round.
	pathRounds    = 3
	pathOffspring = 96
	// leastGap is the share of a path below which no molecules are looked for between two neighbours.
	leastGap = 1. / 40
	// sizePenalty is what each heavy atom beyond those of the larger end costs, in similarity: a molecule with two copies of
	// an end is similar to it, but on no way to the other.
	sizePenalty = 0.03
)

// NewPath computes the path between two molecules, the same in either direction. It holds one core: see [cores.Run]. The
// error is the context's.
func NewPath(ctx context.Context, model Model, first, last Seed) (*Path, error) {
	return cores.Run(ctx, func(ctx context.Context) (*Path, error) { return newPath(ctx, model, first, last) })
}

func newPath(ctx context.Context, model Model, first, last Seed) (*Path, error) {
	ends := []Seed{first, last}
	apart := first.Fingerprint.Tanimoto(&last.Fingerprint)
	p := &Path{apart: apart, size: max(first.HeavyAtoms, last.HeavyAtoms)}
	p.stops = []stop{{first.SMILES, 1, apart, first.HeavyAtoms}, {last.SMILES, apart, 1, last.HeavyAtoms}}
	if apart == 1 {
		return p, nil
	}
	seed := pairSeed(first.SMILES, last.SMILES)
	editor := editor{model: model, seeds: ends}
	found := map[string]stop{}
	parents := []chem.Parents{{First: first.SMILES, Second: last.SMILES, Count: pathCrossovers, Seed: seed}}
	for range 1 + pathRounds {
		made, err := editor.make(ctx, parents)
		if err != nil {
			return nil, err
		}
		for _, v := range slices.Concat(made...) {
			found[v.smiles] = stop{v.smiles, v.fingerprint.Tanimoto(&first.Fingerprint), v.fingerprint.Tanimoto(&last.Fingerprint), v.heavyAtoms}
		}
		p.lay(found)
		if parents = p.gaps(seed); len(parents) == 0 {
			break
		}
		seed++
	}
	return p, nil
}

// pairSeed makes a seed of random numbers out of two molecules.
func pairSeed(first, last string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(first + " " + last))
	return hash.Sum64()
}

// position is where a molecule stands on the path: 0 is the first, 1 the last, and halfway is what is as similar to the
// one as to the other.
func (p *Path) position(s *stop) float64 {
	return (s.toLast - s.toFirst + 1 - p.apart) / (2 * (1 - p.apart))
}

// lay chooses the molecules of the path: of all rows in which similarity to the first end never rises and that to the last
// never falls the one with the largest sum of both, less what too large molecules cost.
func (p *Path) lay(found map[string]stop) {
	first := p.stops[0]
	last := p.stops[len(p.stops)-1]
	between := []stop{first}
	for _, s := range found {
		if s.toFirst < 1 && s.toFirst > p.apart && s.toLast < 1 && s.toLast > p.apart {
			between = append(between, s)
		}
	}
	slices.SortFunc(between[1:], func(a, b stop) int {
		return cmp.Or(cmp.Compare(b.toFirst, a.toFirst), cmp.Compare(a.toLast, b.toLast), cmp.Compare(a.smiles, b.smiles))
	})
	between = append(between, last)
	best := make([]float64, len(between)) // the largest sum of a row that ends here
	before := make([]int, len(between))   // the molecule before it in that row
	for i := 1; i < len(between); i++ {
		best[i] = math.Inf(-1)
		for j := range i {
			if p.follows(&between[j], &between[i]) && best[j] > best[i] {
				best[i] = best[j]
				before[i] = j
			}
		}
		best[i] += p.worth(&between[i])
	}
	p.stops = p.stops[:0]
	for i := len(between) - 1; i > 0; i = before[i] {
		p.stops = append(p.stops, between[i])
	}
	p.stops = append(p.stops, first)
	slices.Reverse(p.stops)
}

// worth is what a molecule adds to a row.
func (p *Path) worth(s *stop) float64 {
	return s.toFirst + s.toLast - sizePenalty*float64(max(0, s.heavyAtoms-p.size))
}

// follows reports whether a molecule may come after another.
func (p *Path) follows(a, b *stop) bool {
	return b.toFirst <= a.toFirst && b.toLast >= a.toLast && p.position(b)-p.position(a) > leastGap/2
}

// gaps are the parents of what may stand between neighbours of the path that are far apart: more where they are farther.
func (p *Path) gaps(seed uint64) []chem.Parents {
	var parents []chem.Parents
	for i := range len(p.stops) - 1 {
		a := &p.stops[i]
		b := &p.stops[i+1]
		gap := p.position(b) - p.position(a)
		if gap < leastGap {
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

// At is the molecule at a share of the way, from 0 to 1.
func (p *Path) At(share float64) string {
	nearest := 0
	for i := range p.stops {
		if math.Abs(p.position(&p.stops[i])-share) < math.Abs(p.position(&p.stops[nearest])-share) {
			nearest = i
		}
	}
	return p.stops[nearest].smiles
}
