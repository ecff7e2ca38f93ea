package cmaes

import "math"

// stepSize adapts sigma, and tells when the covariance path may move.
type stepSize interface {
	// calm is the indicator of eq. (45): false while the step-size path is so long that sigma is still far too small.
	// It is called once a generation, before factor.
	calm(o *Optimizer) bool
	// factor is what sigma changes by.
	factor(o *Optimizer) float64
}

func newStepSize(rule StepSize, n int, p parameters) stepSize {
	path := &pathLength{path: make([]float64, n)}
	if rule == PathLength {
		return path
	}
	return &twoPoint{pathLength: path, damping: 0.7 + 2*math.Log(float64(n)) +
		2*math.Log(math.Max(1, float64(len(p.weights)-n)))}
}

// pathLength is cumulative step-size adaptation.
type pathLength struct{ path []float64 }

func (s *pathLength) calm(o *Optimizer) bool {
	pull := math.Sqrt(o.cs * (2 - o.cs) * o.mueff)
	for i, v := range o.whiteMove {
		s.path[i] = (1-o.cs)*s.path[i] + pull*v // (43)
	}
	n := float64(o.n)
	filled := 1 - math.Pow(1-o.cs, 2*float64(o.iterations))
	length := norm(s.path)
	return length*length/filled < (2+4/(n+1))*n
}

func (s *pathLength) factor(o *Optimizer) float64 {
	change := o.cs / o.damps * (norm(s.path)/o.chi - 1) // (44)
	return math.Exp(math.Max(-1, math.Min(1, change)))
}

// twoPoint compares the first two rows, which propose has put at equal distance before and behind the mean. The rank
// difference, its root and the averaging over generations are those of PyPI cma 4.5.0; see also Hansen, Atamna and
// Auger, How to Assess Step-Size Adaptation Mechanisms in Randomised Search, PPSN 2014.
type twoPoint struct {
	*pathLength
	damping float64
	sum     float64
}

const twoPointAverage = 0.3

func (s *twoPoint) factor(o *Optimizer) float64 {
	s.sum *= 1 - twoPointAverage
	if o.injected[0] && o.injected[1] && o.iterations > 1 {
		var z float64
		for _, f := range o.values {
			if f < o.values[1] {
				z++
			}
			if f < o.values[0] {
				z--
			}
		}
		z /= float64(len(o.values) - 1)
		s.sum += twoPointAverage * math.Copysign(math.Sqrt(math.Abs(z)), z)
	}
	return math.Exp(s.sum / s.damping)
}
