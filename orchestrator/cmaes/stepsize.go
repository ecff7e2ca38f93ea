package cmaes

import "math"

// stepSize adapts sigma and decides when the covariance path stalls.
type stepSize interface {
	// updatePath updates the step-size path and reports whether the covariance path stalls, eq. (45): the step-size
	// path is so long that sigma is still far too small. Tell calls it once a generation, before factor.
	updatePath(o *Optimizer) (stalled bool)
	// factor returns the factor by which sigma changes.
	factor(o *Optimizer) float64
}

// twoPointDimension is the dimension from which PyPI cma uses the two-point rule.
const twoPointDimension = 300

func newStepSize(n int, p parameters) stepSize {
	cumulative := &pathLength{path: make([]float64, n)}
	lambda := len(p.weights)
	if n < twoPointDimension || lambda < 3 {
		return cumulative
	}
	return &twoPoint{pathLength: cumulative, damping: twoPointDamping(n, lambda)}
}

func twoPointDamping(n, lambda int) float64 {
	return 0.7 + 2*math.Log(float64(n)) + 2*math.Log(math.Max(1, float64(lambda-n)))
}

// pathLength is cumulative step-size adaptation.
type pathLength struct{ path []float64 }

func (s *pathLength) updatePath(o *Optimizer) (stalled bool) {
	pull := math.Sqrt(o.cs * (2 - o.cs) * o.mueff)
	for i, v := range o.whiteMove {
		s.path[i] = (1-o.cs)*s.path[i] + pull*v // (43)
	}
	n := float64(o.n)
	filled := 1 - math.Pow(1-o.cs, 2*float64(o.generations))
	length := norm(s.path)
	return !(length*length/filled < (2+4/(n+1))*n)
}

func (s *pathLength) factor(o *Optimizer) float64 {
	change := o.cs / o.damps * (norm(s.path)/o.chi - 1) // (44)
	return math.Exp(math.Max(-1, math.Min(1, change)))
}

// twoPoint compares two points at equal distance on either side of the mean along its last move: Hansen, CMA-ES with
// Two-Point Step-Size Adaptation, https://arxiv.org/abs/0805.0231. They are the first two rows of [Optimizer.Ask]. The
// rank difference, its root and the averaging over generations are those of PyPI cma 4.5.0; see also Hansen, Atamna and
// Auger, How to Assess Step-Size Adaptation Mechanisms in Randomised Search, PPSN 2014.
type twoPoint struct {
	*pathLength // for the covariance path
	damping     float64
	average     float64 // of the rank differences, the recent ones counting more
}

// twoPointRate is the weight of the newest rank difference in the average.
const twoPointRate = 0.3

func (s *twoPoint) factor(o *Optimizer) float64 {
	s.average *= 1 - twoPointRate
	if o.mirrored {
		var difference float64 // in rank of row 0 and row 1; positive if row 0 is better
		for _, value := range o.values {
			if value < o.values[1] {
				difference++
			}
			if value < o.values[0] {
				difference--
			}
		}
		difference /= float64(o.lambda - 1)
		s.average += twoPointRate * math.Copysign(math.Sqrt(math.Abs(difference)), difference)
	}
	return math.Exp(s.average / s.damping)
}
