package cmaes

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// separable is a diagonal covariance: Ros and Hansen, PPSN 2008. The deviations change by a factor exp(·/2) in place of
// a sum, which keeps them positive whatever the negative weights: Hansen, Adaptive Encoding, PPSN 2008.
type separable struct {
	deviations []float64
	square     []float64 // weighted mean of z², one a coordinate
	largest    []float64 // largest |z²-1|, one a coordinate
}

func newSeparable(n int) *separable {
	s := &separable{deviations: make([]float64, n), square: make([]float64, n), largest: make([]float64, n)}
	for i := range s.deviations {
		s.deviations[i] = 1
	}
	return s
}

func (s *separable) refresh() error { return nil }

func (s *separable) sample(y, z blas64.General) {
	for r := range y.Rows {
		to := row(y, r)
		from := row(z, r)
		for i, d := range s.deviations {
			to[i] = d * from[i]
		}
	}
}

func (s *separable) whiten(z, y []float64) {
	for i, d := range s.deviations {
		z[i] = y[i] / d
	}
}

func (s *separable) path(_, z []float64) []float64 { return z }

// update multiplies each deviation by 2^((Σ w z² - Σ w) / 2): a log-linear form of eq. (47) on the diagonal, where the
// base 2 makes a single z² of 0 or of 2 change the variance just as the linear form does.
func (s *separable) update(g generation) {
	clear(s.square)
	clear(s.largest)
	s.add(g.pathWeight, g.path)
	for k, r := range g.order {
		s.add(g.weights[k], row(g.z, r))
	}
	for i := range s.deviations {
		factor := math.Exp(math.Ln2 * (s.square[i] - g.decay) / 2)
		s.deviations[i] *= math.Min(factor, 1+s.largest[i]/2) // no further than the largest value seen
	}
}

func (s *separable) add(weight float64, z []float64) {
	for i, v := range z {
		s.square[i] += weight * v * v
		s.largest[i] = max(s.largest[i], math.Abs(v*v-1))
	}
}

func (s *separable) deviation(i int) float64 { return s.deviations[i] }

func (s *separable) condition() float64 {
	smallest := s.deviations[0]
	largest := s.deviations[0]
	for _, d := range s.deviations {
		smallest = min(smallest, d)
		largest = max(largest, d)
	}
	return (largest / smallest) * (largest / smallest)
}

func (s *separable) axis([]float64, int) bool { return false }
