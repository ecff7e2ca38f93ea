package cmaes

import (
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// parallelWork is the number of multiplications below which a second goroutine does not pay.
const parallelWork = 1 << 21

// workers is how many goroutines share work multiplications. No sum is split between two, so that results do not depend
// on the machine's number of cores.
func workers(work int) int {
	return max(1, min(runtime.GOMAXPROCS(0), 8, work/parallelWork))
}

// together calls part(0) to part(n-1), each in a separate goroutine where there are several.
func together(n int, part func(i int)) {
	if n == 1 {
		part(0)
		return
	}
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { part(i) })
	}
	wait.Wait()
}

// addProducts sets c to beta c + alpha aᵀ a, upper triangle, in strips of columns of equal area.
func addProducts(alpha float64, a blas64.General, beta float64, c blas64.Symmetric) {
	if a.Rows == 0 && beta == 1 {
		return
	}
	strips := workers(c.N * c.N / 2 * a.Rows)
	edge := func(i int) int { return int(float64(c.N) * math.Sqrt(float64(i)/float64(strips))) }
	together(strips, func(i int) {
		if strips == 1 {
			blas64.Syrk(blas.Trans, alpha, a, beta, c)
			return
		}
		addStrip(alpha, a, beta, c, edge(i), edge(i+1))
	})
}

// addStrip is addProducts for columns from to to, with the sums in the order that Syrk has.
func addStrip(alpha float64, a blas64.General, beta float64, c blas64.Symmetric, from, to int) {
	for i := range to {
		left := max(i, from)
		target := c.Data[i*c.Stride+left : i*c.Stride+to]
		for j := range target {
			target[j] *= beta
		}
		for r := range a.Rows {
			line := row(a, r)
			if line[i] != 0 {
				axpy(alpha*line[i], line[left:to], target)
			}
		}
	}
}

// multiplyUpper sets the rows of y to yᵀ u.
func multiplyUpper(y blas64.General, u blas64.Triangular) {
	parts := min(workers(y.Rows*u.N*u.N/2), max(1, y.Rows))
	together(parts, func(i int) {
		part := below(y, i*y.Rows/parts)
		part.Rows = (i+1)*y.Rows/parts - i*y.Rows/parts
		blas64.Trmm(blas.Right, blas.NoTrans, 1, u, part)
	})
}
