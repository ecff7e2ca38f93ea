package cmaes

import (
	"math"
	"slices"
)

// diagonal is a diagonal covariance matrix (Ros and Hansen, PPSN 2008). The deviations change by a factor exp(·/2)
// instead of a sum, which keeps them positive whatever the negative weights: Hansen, Adaptive Encoding, PPSN 2008.
type diagonal struct {
	deviations []float64 // standard deviation per coordinate, in units of sigma

	// What add has collected since the last update, per coordinate.
	square  []float64 // weighted sum of z²
	largest []float64 // largest |z²-1|
}

func newDiagonal(n int) *diagonal {
	return &diagonal{
		deviations: slices.Repeat([]float64{1}, n),
		square:     make([]float64, n),
		largest:    make([]float64, n),
	}
}

// colour sets y to the vector with this covariance that belongs to z.
func (d *diagonal) colour(y, z []float64) {
	for i, deviation := range d.deviations {
		y[i] = deviation * z[i]
	}
}

// whiten is the inverse of colour.
func (d *diagonal) whiten(z, y []float64) {
	for i, deviation := range d.deviations {
		z[i] = y[i] / deviation
	}
}

// add collects z, weighted, for the next update.
func (d *diagonal) add(weight float64, z []float64) {
	for i, v := range z {
		d.square[i] += weight * v * v
		d.largest[i] = max(d.largest[i], math.Abs(v*v-1))
	}
}

// update multiplies each deviation by 2^((Σ w z² - decay) / 2), where decay is the sum of the weights: a log-linear
// form of eq. (47) on the diagonal, in which the base 2 makes a single z² of 0 or of 2 change the variance just as the
// linear form does.
func (d *diagonal) update(decay float64) {
	for i := range d.deviations {
		factor := math.Exp(math.Ln2 * (d.square[i] - decay) / 2)
		d.deviations[i] *= math.Min(factor, 1+d.largest[i]/2) // no further than the largest value seen
	}
	clear(d.square)
	clear(d.largest)
}

// condition is the condition number: the largest variance divided by the smallest.
func (d *diagonal) condition() float64 {
	ratio := slices.Max(d.deviations) / slices.Min(d.deviations)
	return ratio * ratio
}
