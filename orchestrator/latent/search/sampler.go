package search

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"retort/chem"
)

const (
	// maxRounds is how often a sampler draws points.
	maxRounds = 6
	// maxRoundPoints bounds the points of a round, as long as no fewer are asked for.
	maxRoundPoints = 64
	// pointsPerMolecule is how many points a round has for each missing molecule.
	pointsPerMolecule = 1.5
)

// sampler collects molecules around one seed. A molecule counts when it is valid, new and not the seed; it fits when it
// is not less similar to the seed than the radius allows.
type sampler struct {
	seed      Seed
	random    *rand.Rand
	molecules int     // wanted
	least     int     // points of the first round
	radius    float64 // scaled
	rays      []*ray
	found     []string  // those that fit, canonical
	others    []variant // new ones that do not
	seen      map[string]bool
}

func newSampler(seed Seed, random *rand.Rand, molecules, least int, radius float64) *sampler {
	return &sampler{seed: seed, random: random, molecules: molecules, least: least, radius: radius, seen: map[string]bool{seed.SMILES: true}}
}

// leastSimilarity is the Tanimoto similarity to the seed down to which a molecule fits a scaled radius: it falls in a
// straight line from 0.85 at 0 to 0.05 at 2, with 0.57 at 0.7 and 0.45 at 1. Noise of one size is no step of one size for
// all molecules, and this makes a radius mean much the same for all of them.
func leastSimilarity(radius float64) float64 { return max(0, 0.85-0.4*radius) }

func (s *sampler) fits(similarity float64) bool { return similarity >= leastSimilarity(s.radius) }

// due is the rays of a round, from 0: those whose search goes on and new ones.
func (s *sampler) due(round int) []*ray {
	missing := s.molecules - len(s.found)
	if missing <= 0 {
		return nil
	}
	wanted := min(int(pointsPerMolecule*float64(missing)+1), max(missing, maxRoundPoints))
	if round == 0 {
		wanted = max(wanted, s.least)
	}
	var rays []*ray
	for _, r := range s.rays {
		if !r.done && len(rays) < wanted {
			rays = append(rays, r)
		}
	}
	s.rays = rays
	for len(s.rays) < wanted {
		s.rays = append(s.rays, newRay(s.radius, len(s.seed.Hidden), s.random))
	}
	return s.rays
}

// take takes what a point on a ray decoded to: molecules, the likeliest beam first. Texts that are no molecule, or one
// that the seed does not admit, are empty.
func (s *sampler) take(r *ray, beams []variant) {
	isNew := func(v variant) bool { return v.smiles != "" && !s.seen[v.smiles] }
	best := slices.IndexFunc(beams, func(v variant) bool { return isNew(v) && s.fits(v.similarity) })
	if best >= 0 {
		s.seen[beams[best].smiles] = true
		s.found = append(s.found, beams[best].smiles)
		r.done = true
		return
	}
	if other := slices.IndexFunc(beams, isNew); other >= 0 {
		s.seen[beams[other].smiles] = true
		s.others = append(s.others, beams[other])
	}
	valid := slices.IndexFunc(beams, func(v variant) bool { return v.smiles != "" })
	if valid < 0 {
		r.nearer()
		return
	}
	switch first := beams[valid]; {
	case first.smiles == s.seed.SMILES:
		r.farther()
	case s.fits(first.similarity): // found on another ray
		r.done = true
	default:
		r.nearer()
	}
}

// shortage is how many molecules are missing.
func (s *sampler) shortage() int { return max(0, s.molecules-len(s.found)) }

// parents are what is edited to fill the places: the seed first, and the molecules that were found.
func (s *sampler) parents(count int) []chem.Parents {
	parents := []chem.Parents{{First: s.seed.SMILES, Count: count, Seed: s.random.Uint64()}}
	for _, smiles := range s.found {
		parents = append(parents, chem.Parents{First: smiles, Count: count / 4, Seed: s.random.Uint64()})
	}
	return parents
}

// fill takes edits of the seed into the places that are left: those that fit as they were drawn, then the most similar
// of these and of what decoded to something else.
func (s *sampler) fill(edits []variant) {
	for _, v := range edits {
		if s.shortage() > 0 && !s.seen[v.smiles] && s.fits(v.similarity) {
			s.seen[v.smiles] = true
			s.found = append(s.found, v.smiles)
		}
	}
	rest := s.others
	for _, v := range edits {
		if !s.seen[v.smiles] {
			s.seen[v.smiles] = true
			rest = append(rest, v)
		}
	}
	slices.SortStableFunc(rest, func(a, b variant) int { return cmp.Compare(b.similarity, a.similarity) })
	taken := min(len(rest), s.shortage())
	for _, v := range rest[:taken] {
		s.found = append(s.found, v.smiles)
	}
	s.others = rest[taken:]
}

// result is exactly as many molecules as were asked for: where there are not enough, repeated ones fill the places, or
// the seed.
func (s *sampler) result() []string {
	out := slices.Clone(s.found[:min(len(s.found), s.molecules)])
	for i := 0; len(out) < s.molecules; i++ {
		if len(s.found) > 0 {
			out = append(out, s.found[i%len(s.found)])
		} else {
			out = append(out, s.seed.SMILES)
		}
	}
	return out
}
