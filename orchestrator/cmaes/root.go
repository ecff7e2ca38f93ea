package cmaes

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// eigen is the root B D of C = B D² Bᵀ, eq. (39). Its whitening is C^(-1/2) = B D⁻¹ Bᵀ, as eq. (43) has it.
type eigen struct {
	b       blas64.General // eigenvectors, one a column
	d       []float64      // standard deviations along them, ascending
	scaled  blas64.General // z with its columns multiplied by d
	vector  []float64
	scratch blas64.Symmetric
	work    []float64
	values  []float64
}

func newEigen(n, lambda int) *eigen {
	e := &eigen{
		b: matrix(n, n), d: make([]float64, n), scaled: matrix(lambda, n), vector: make([]float64, n),
		scratch: identity(n), values: make([]float64, n), work: make([]float64, 1),
	}
	lapack64.Syev(lapack.EVCompute, e.scratch, e.values, e.work, -1)
	e.work = make([]float64, int(e.work[0]))
	return e
}

func (e *eigen) factorize(c blas64.Symmetric) bool {
	copy(e.scratch.Data, c.Data)
	ok := lapack64.Syev(lapack.EVCompute, e.scratch, e.values, e.work, len(e.work))
	if !ok || !(e.values[0] > 0) || math.IsInf(e.values[len(e.values)-1], 0) {
		return false
	}
	copy(e.b.Data, e.scratch.Data)
	for i, v := range e.values {
		e.d[i] = math.Sqrt(v)
	}
	return true
}

func (e *eigen) sample(y, z blas64.General) {
	scaled := e.scaled
	scaled.Rows = z.Rows
	for r := range z.Rows {
		to := row(scaled, r)
		from := row(z, r)
		for i, d := range e.d {
			to[i] = d * from[i]
		}
	}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, scaled, e.b, 0, y)
}

func (e *eigen) whiten(z, y []float64) {
	n := len(y)
	inner := blas64.Vector{N: n, Inc: 1, Data: e.vector}
	blas64.Gemv(blas.Trans, 1, e.b, blas64.Vector{N: n, Inc: 1, Data: y}, 0, inner)
	for i, d := range e.d {
		e.vector[i] /= d
	}
	blas64.Gemv(blas.NoTrans, 1, e.b, inner, 0, blas64.Vector{N: n, Inc: 1, Data: z})
}

func (e *eigen) condition() float64 {
	ratio := e.d[len(e.d)-1] / e.d[0]
	return ratio * ratio
}

func (e *eigen) axis(y []float64, k int) {
	for i := range y {
		y[i] = e.d[k] * e.b.Data[i*e.b.Stride+k]
	}
}

// cholesky is the root Uᵀ of C = Uᵀ U, with a second matrix that the next factor is computed in, so that a failure
// leaves the present one.
type cholesky struct{ u, next blas64.Symmetric }

func newCholesky(n int) *cholesky { return &cholesky{u: identity(n), next: identity(n)} }

func (c *cholesky) factor() blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: c.u.N, Stride: c.u.Stride, Data: c.u.Data}
}

func (c *cholesky) factorize(covariance blas64.Symmetric) bool {
	copy(c.next.Data, covariance.Data)
	if _, ok := lapack64.Potrf(c.next); !ok {
		return false
	}
	c.u, c.next = c.next, c.u
	return !math.IsInf(c.condition(), 0)
}

func (c *cholesky) sample(y, z blas64.General) {
	copy(y.Data[:y.Rows*y.Stride], z.Data)
	multiplyUpper(y, c.factor()) // yᵀ = zᵀ U
}

func (c *cholesky) whiten(z, y []float64) {
	copy(z, y)
	blas64.Trsv(blas.Trans, c.factor(), blas64.Vector{N: len(z), Inc: 1, Data: z})
}

// condition is a lower bound: the squared ratio of the diagonal. LAPACK's estimate costs a good part of the factor
// itself.
func (c *cholesky) condition() float64 {
	smallest := c.u.Data[0]
	largest := c.u.Data[0]
	for i := 0; i < len(c.u.Data); i += c.u.Stride + 1 {
		smallest = min(smallest, c.u.Data[i])
		largest = max(largest, c.u.Data[i])
	}
	return (largest / smallest) * (largest / smallest)
}

func (c *cholesky) axis(y []float64, k int) {
	for i := range y {
		y[i] = 0
		if k <= i {
			y[i] = c.u.Data[k*c.u.Stride+i]
		}
	}
}
