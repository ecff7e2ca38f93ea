package cmaes

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// eigenLimit is the largest dimension that is decomposed into eigenvectors.
const eigenLimit = 64

// choleskyGap is how much longer the Cholesky form waits between decompositions than the tutorial's rule. At 512
// dimensions and 22 points that is every 17 generations, in which all weights together are 0.08 % of the covariance; on
// a 100-dimensional ellipsoid gaps of 1, 2 and 4 need the same number of evaluations.
const choleskyGap = 4

// full is an unrestricted covariance matrix with a root of it, taken now and then.
type full struct {
	covariance blas64.Symmetric
	root       root
	generation int
	rooted     int     // generation that the root belongs to
	gap        float64 // generations between two roots

	// The vectors told since the covariance was last written, scaled by the root of their weight, one a row. The
	// covariance it stands for is decay * (covariance + plusᵀ plus - minusᵀ minus).
	plus, minus blas64.General
	decay       float64
}

// root is a matrix A with A Aᵀ = C.
type root interface {
	// factorize takes the root of c, or reports that c is not positive definite. It does not write c.
	factorize(c blas64.Symmetric) bool
	sample(y, z blas64.General)
	whiten(z, y []float64)
	condition() float64
	axis(y []float64, k int)
}

func newFull(n, lambda int, p parameters) *full {
	f := &full{covariance: identity(n), gap: p.gap, decay: 1}
	if n <= eigenLimit {
		f.root = newEigen(n, lambda)
	} else {
		f.root = newCholesky(n)
		f.gap = choleskyGap * p.gap
	}
	f.root.factorize(f.covariance)
	// As many generations as lie between two roots, within 512 rows.
	generations := 1 + int(math.Min(math.Ceil(f.gap), float64(512/lambda)))
	f.plus = matrix(generations*(p.mu+1), n)
	f.minus = matrix(generations*(lambda-p.mu), n)
	f.plus.Rows = 0
	f.minus.Rows = 0
	return f
}

func identity(n int) blas64.Symmetric {
	c := blas64.Symmetric{N: n, Stride: n, Data: make([]float64, n*n), Uplo: blas.Upper}
	for i := range n {
		c.Data[i*n+i] = 1
	}
	return c
}

func (f *full) sample(y, z blas64.General)    { f.root.sample(y, z) }
func (f *full) whiten(z, y []float64)         { f.root.whiten(z, y) }
func (f *full) path(y, _ []float64) []float64 { return y }
func (f *full) condition() float64            { return f.root.condition() }

func (f *full) deviation(i int) float64 {
	return math.Sqrt(f.covariance.Data[i*f.covariance.Stride+i])
}

func (f *full) axis(y []float64, k int) bool {
	f.root.axis(y, k%len(y))
	return true
}

// update is eq. (47), left in factors until fold writes it.
func (f *full) update(g generation) {
	n := f.covariance.N
	if (f.plus.Rows+len(g.order)+1)*n > len(f.plus.Data) || (f.minus.Rows+len(g.order))*n > len(f.minus.Data) {
		f.fold()
	}
	f.generation++
	f.decay *= 1 - g.decay
	f.gather(g.pathWeight, g.path)
	for k, r := range g.order {
		w := g.weights[k]
		if w < 0 {
			length := norm(row(g.z, r)) + 1e-9
			w *= float64(n) / (length * length) // (46): the length of the bad points does not count
		}
		f.gather(w, row(g.y, r))
	}
}

// gather adds weight * y yᵀ to the pending sum. Dividing by the decay so far leaves one decay for all at the end.
func (f *full) gather(weight float64, y []float64) {
	if weight == 0 {
		return
	}
	pending := &f.plus
	if weight < 0 {
		pending = &f.minus
	}
	scale := math.Sqrt(math.Abs(weight) / f.decay)
	pending.Rows++
	to := row(*pending, pending.Rows-1)
	for i, v := range y {
		to[i] = scale * v
	}
}

// fold writes the pending vectors into the covariance.
func (f *full) fold() {
	addProducts(f.decay, f.plus, f.decay, f.covariance)
	addProducts(-f.decay, f.minus, 1, f.covariance)
	f.plus.Rows = 0
	f.minus.Rows = 0
	f.decay = 1
}

// refresh takes a new root when the gap has passed. A covariance that rounding has made indefinite is lifted by a
// growing multiple of the identity.
func (f *full) refresh() error {
	if float64(f.generation-f.rooted) < f.gap || f.generation == f.rooted {
		return nil
	}
	f.fold()
	f.rooted = f.generation
	for lift := 1e-14; lift < 1; lift *= 100 {
		if f.root.factorize(f.covariance) {
			return nil
		}
		f.lift(lift)
	}
	return errors.New("cmaes: the covariance matrix is no longer positive definite")
}

func (f *full) lift(fraction float64) {
	var trace float64
	n, stride := f.covariance.N, f.covariance.Stride
	for i := range n {
		trace += f.covariance.Data[i*stride+i]
	}
	for i := range n {
		f.covariance.Data[i*stride+i] += fraction * trace / float64(n)
	}
}
