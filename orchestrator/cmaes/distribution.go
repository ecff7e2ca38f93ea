package cmaes

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
)

// distribution is the zero-mean normal distribution that points are drawn from, in units of sigma and the deviations.
// Rows called z are standard normal, rows called y have its covariance; each y belongs to one z.
type distribution interface {
	// refresh makes sampling follow the updates, when enough of them have been gathered. It is called between a
	// generation's update and the next one's sample, never between a sample and its update.
	refresh() error
	// sample gives the rows of y that belong to the rows of z. The two may not overlap.
	sample(y, z blas64.General)
	// whiten gives the z that belongs to y; |z| is the Mahalanobis norm of y. The two may not overlap.
	whiten(z, y []float64)
	// path picks the form of the mean's move that the covariance path sums up.
	path(y, z []float64) []float64
	// update learns from one generation.
	update(g generation)
	// deviation is the present standard deviation of coordinate i.
	deviation(i int) float64
	// condition is the condition number of the covariance, or a lower bound of it.
	condition() float64
	// axis writes one axis of the distribution, the k-th modulo n, with its standard deviation as length; false if the
	// axes are the coordinates.
	axis(y []float64, k int) bool
}

// generation is what one call of Tell teaches.
type generation struct {
	path       []float64      // the covariance path
	pathWeight float64        // its learning rate
	decay      float64        // weight that the old covariance loses
	y, z       blas64.General // the points, as asked
	order      []int          // rows from best to worst
	weights    []float64      // of order[k], with the learning rate
}

func matrix(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

func row(m blas64.General, i int) []float64 { return m.Data[i*m.Stride : i*m.Stride+m.Cols] }

// below is m without its first rows.
func below(m blas64.General, first int) blas64.General {
	m.Rows -= first
	m.Data = m.Data[min(first*m.Stride, len(m.Data)):]
	return m
}

func normals(dst []float64, source *rand.Rand) {
	for i := range dst {
		dst[i] = source.NormFloat64()
	}
}

func norm(v []float64) float64 {
	return blas64.Nrm2(blas64.Vector{N: len(v), Inc: 1, Data: v})
}

// axpy adds a*x to y.
func axpy(a float64, x, y []float64) {
	blas64.Axpy(a, blas64.Vector{N: len(x), Inc: 1, Data: x}, blas64.Vector{N: len(y), Inc: 1, Data: y})
}
