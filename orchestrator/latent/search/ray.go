package search

import "math/rand/v2"

// ray is a random direction from a seed, along which a sampler looks for the place where a molecule begins that is not
// the seed and fits the radius asked for: first at that radius, then farther where it finds the seed, and nearer where it
// finds what does not fit.
type ray struct {
	noise []float64 // standard normal, shortened: see [Space.noise]
	at    float64   // the scaled radius of its next point
	low   float64   // the largest one at which the seed was found
	high  float64   // the least one at which something was found that does not fit; 0 for none
	steps int
	done  bool
}

const (
	// maxSteps is how many points of a ray are decoded at most, the first not counted.
	maxSteps = 4
	// firstStep is the least scaled radius of the second point of a ray, where the first gave the seed.
	firstStep = 0.4
)

func newRay(radius float64, size int, random *rand.Rand) *ray {
	return &ray{noise: noise(size, random), at: radius}
}

func (r *ray) farther() {
	r.low = r.at
	if r.high > 0 {
		r.step((r.low + r.high) / 2)
	} else {
		r.step(max(firstStep, 1.5*r.at))
	}
}

func (r *ray) nearer() {
	r.high = r.at
	r.step((r.low + r.high) / 2)
}

func (r *ray) step(at float64) {
	r.at = at
	r.steps++
	r.done = r.steps > maxSteps
}
