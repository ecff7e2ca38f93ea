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
	// maxRoundPoints bounds the points of a round, unless more molecules are missing.
	maxRoundPoints = 64
	// pointsPerMolecule is the number of points of a round per missing molecule.
	pointsPerMolecule = 1.5
)

// sampler collects molecules around one seed. A molecule fits if it is as similar to the seed as the radius demands.
type sampler struct {
	seed      Seed
	random    *rand.Rand
	molecules int     // wanted
	minPoints int     // lower bound of the points of the first round
	radius    float64 // scaled
	rays      []*ray
	found     []string  // canonical SMILES; those that fit, until fill adds others
	misfits   []variant // distinct molecules that do not fit
	seen      map[string]bool
}

func newSampler(seed Seed, random *rand.Rand, molecules, minPoints int, radius float64) *sampler {
	return &sampler{
		seed:      seed,
		random:    random,
		molecules: molecules,
		minPoints: minPoints,
		radius:    radius,
		seen:      map[string]bool{seed.SMILES: true},
	}
}

// minSimilarity is the least Tanimoto similarity to the seed of a molecule that fits a scaled radius. It falls linearly
// from 0.85 at 0 to 0.05 at 2. The same noise is a large step for one molecule and none for another; with this bound a
// radius means much the same for all of them.
func minSimilarity(radius float64) float64 { return max(0, 0.85-0.4*radius) }

func (s *sampler) fits(similarity float64) bool { return similarity >= minSimilarity(s.radius) }

// nextRays returns the rays of a round, counted from 0: unfinished ones and new ones.
func (s *sampler) nextRays(round int) []*ray {
	missing := s.shortage()
	if missing == 0 {
		return nil
	}
	wanted := min(int(pointsPerMolecule*float64(missing)+1), max(missing, maxRoundPoints))
	if round == 0 {
		wanted = max(wanted, s.minPoints)
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

// collect adds the best molecule of a point on a ray, and sets the next point of the ray. The likeliest beam is first.
// A beam is empty if it is not a molecule that the seed admits.
func (s *sampler) collect(r *ray, beams []variant) {
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
		s.misfits = append(s.misfits, beams[other])
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

// shortage returns the number of missing molecules.
func (s *sampler) shortage() int { return max(0, s.molecules-len(s.found)) }

// parents returns the molecules to edit for the shortage: the seed, for count edits, and the molecules found so far.
func (s *sampler) parents(count int) []chem.Parents {
	parents := []chem.Parents{{First: s.seed.SMILES, Count: count, Seed: s.random.Uint64()}}
	for _, smiles := range s.found {
		parents = append(parents, chem.Parents{First: smiles, Count: count / 4, Seed: s.random.Uint64()})
	}
	return parents
}

// fill reduces the shortage: first with the edits that fit, then with the most similar of all misfits.
func (s *sampler) fill(edits []variant) {
	for _, v := range edits {
		if s.seen[v.smiles] {
			continue
		}
		s.seen[v.smiles] = true
		if s.shortage() > 0 && s.fits(v.similarity) {
			s.found = append(s.found, v.smiles)
		} else {
			s.misfits = append(s.misfits, v)
		}
	}
	slices.SortStableFunc(s.misfits, func(a, b variant) int { return cmp.Compare(b.similarity, a.similarity) })
	added := min(len(s.misfits), s.shortage())
	for _, v := range s.misfits[:added] {
		s.found = append(s.found, v.smiles)
	}
	s.misfits = s.misfits[added:]
}

// result returns exactly the wanted number of molecules. If fewer were found, it repeats them; if none, the seed.
func (s *sampler) result() []string {
	found := s.found
	if len(found) == 0 {
		found = []string{s.seed.SMILES}
	}
	out := make([]string, s.molecules)
	for i := range out {
		out[i] = found[i%len(found)]
	}
	return out
}

// ray is a random direction from a seed. Along it a sampler looks for the nearest molecule that is not the seed and
// fits the radius: first at that radius, then farther if it finds the seed, and nearer if it finds a misfit.
type ray struct {
	noise  []float64 // its direction: see drawNoise
	radius float64   // scaled radius of its next point
	low    float64   // largest radius at which the seed was found
	high   float64   // smallest radius at which a misfit was found; 0 for none
	steps  int
	done   bool
}

const (
	// maxSteps bounds the points of a ray after the first.
	maxSteps = 4
	// firstStep is the least scaled radius of the second point of a ray if the first gave the seed.
	firstStep = 0.4
)

func newRay(radius float64, size int, random *rand.Rand) *ray {
	return &ray{noise: drawNoise(size, random), radius: radius}
}

func (r *ray) farther() {
	r.low = r.radius
	if r.high > 0 {
		r.step((r.low + r.high) / 2)
	} else {
		r.step(max(firstStep, 1.5*r.radius))
	}
}

func (r *ray) nearer() {
	r.high = r.radius
	r.step((r.low + r.high) / 2)
}

func (r *ray) step(radius float64) {
	r.radius = radius
	r.steps++
	r.done = r.steps > maxSteps
}
