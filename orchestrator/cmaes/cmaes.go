package cmaes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Optimizer is one run of CMA-ES.
type Optimizer struct {
	parameters
	n, lambda  int
	random     *rand.Rand
	covariance *diagonal
	stepSize   stepSize

	mean          []float64
	sigma, sigma0 float64 // the present and the first step size
	generations   int     // number of calls of Tell

	covariancePath []float64
	move           []float64 // last move of the mean in units of sigma, as a y
	whiteMove      []float64 // the same as a z

	z, y, x   [][]float64 // the population, one row per point
	values    []float64   // of the rows; NaN is stored as +Inf
	order     []int       // rows from best to worst
	injected  []bool      // rows that were not drawn from the distribution
	mirrored  bool        // rows 0 and 1 lie on either side of the mean, see twoPoint
	proposals [][]float64 // pending: see Inject
}

// New starts a run at mean with standard deviation sigma in every coordinate. A generation has lambda points, at least
// 2. Runs with the same seed draw the same random numbers.
func New(mean []float64, sigma float64, lambda int, seed uint64) (*Optimizer, error) {
	n := len(mean)
	if n == 0 {
		return nil, errors.New("cmaes: the mean has no coordinates")
	}
	if i := indexNotFinite(mean); i >= 0 {
		return nil, fmt.Errorf("cmaes: coordinate %d of the mean is %v", i, mean[i])
	}
	if !(sigma > 0) || math.IsInf(sigma, 0) {
		return nil, fmt.Errorf("cmaes: sigma is %v, not a positive number", sigma)
	}
	if lambda < 2 {
		return nil, fmt.Errorf("cmaes: a population of %d; at least 2 are needed", lambda)
	}
	p := newParameters(n, lambda)
	return &Optimizer{
		parameters:     p,
		n:              n,
		lambda:         lambda,
		random:         rand.New(rand.NewPCG(seed, 0x636d6165730a)),
		covariance:     newDiagonal(n),
		stepSize:       newStepSize(n, p),
		mean:           slices.Clone(mean),
		sigma:          sigma,
		sigma0:         sigma,
		covariancePath: make([]float64, n),
		move:           make([]float64, n),
		whiteMove:      make([]float64, n),
		z:              matrix(lambda, n),
		y:              matrix(lambda, n),
		x:              matrix(lambda, n),
		values:         make([]float64, lambda),
		order:          make([]int, lambda),
		injected:       make([]bool, lambda),
	}, nil
}

func matrix(rows, columns int) [][]float64 {
	return slices.Collect(slices.Chunk(make([]float64, rows*columns), columns))
}

func indexNotFinite(x []float64) int {
	return slices.IndexFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// Ask draws a population: lambda rows of n coordinates. The rows belong to the optimiser: the caller must not change
// them, and the next Ask overwrites them.
func (o *Optimizer) Ask() [][]float64 {
	clear(o.injected)
	first := o.placeProposals()
	for _, z := range o.z[first:] {
		for i := range z {
			z[i] = o.random.NormFloat64()
		}
	}
	for r := first; r < o.lambda; r++ {
		o.covariance.colour(o.y[r], o.z[r])
	}
	for r, x := range o.x {
		for i, m := range o.mean {
			x[i] = m + o.sigma*o.y[r][i] // (40)
		}
	}
	return o.x
}

// Tell moves the distribution towards the better points of the last Ask. values has one value per row, lower is
// better; NaN and +Inf rank last.
func (o *Optimizer) Tell(values []float64) error {
	if len(values) != o.lambda {
		return fmt.Errorf("cmaes: %d values for a population of %d", len(values), o.lambda)
	}
	o.generations++
	o.rank(values)
	o.moveMean()
	o.adaptCovariance()
	o.sigma *= o.stepSize.factor(o)
	return nil
}

// rank sorts the rows by value; among equal values the earlier row comes first.
func (o *Optimizer) rank(values []float64) {
	for r, value := range values {
		if math.IsNaN(value) {
			value = math.Inf(1)
		}
		o.values[r] = value
		o.order[r] = r
	}
	slices.SortStableFunc(o.order, func(a, b int) int { return cmp.Compare(o.values[a], o.values[b]) })
}

// moveMean moves the mean to the weighted mean of the better points: eqs. (41) and (42).
func (o *Optimizer) moveMean() {
	clear(o.move)
	for k, w := range o.weights[:o.mu] {
		floats.AddScaled(o.move, w, o.y[o.order[k]])
	}
	o.covariance.whiten(o.whiteMove, o.move)
	for i, y := range o.move {
		o.mean[i] += o.sigma * y
	}
}

// adaptCovariance updates the covariance path and matrix: eqs. (45) to (47).
func (o *Optimizer) adaptCovariance() {
	heaviside := 1.0
	if o.stepSize.updatePath(o) {
		heaviside = 0
	}
	pull := heaviside * math.Sqrt(o.cc*(2-o.cc)*o.mueff)
	for i, v := range o.whiteMove {
		o.covariancePath[i] = (1-o.cc)*o.covariancePath[i] + pull*v // (45)
	}
	// While the path is stalled, the variance it would have added is not lost: delta of eq. (47).
	decay := o.c1 * (1 - (1-heaviside)*o.cc*(2-o.cc))
	o.covariance.add(o.c1, o.covariancePath)
	for k, w := range o.weights {
		row := o.order[k]
		if w < 0 && o.injected[row] {
			w = 0 // a bad proposal says nothing about the distribution
		}
		decay += o.cmu * w
		o.covariance.add(o.cmu*w, o.z[row])
	}
	o.covariance.update(decay)
}
