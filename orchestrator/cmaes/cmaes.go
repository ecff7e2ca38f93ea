package cmaes

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
)

// Optimizer is one run of CMA-ES.
type Optimizer struct {
	settings
	parameters
	n            int
	random       *rand.Rand
	distribution distribution
	rule         stepSize
	bounds       *box
	scale        []float64 // deviations, all 1 by default

	mean, unit     []float64 // unit is sigma times scale, one a coordinate
	sigma, sigma0  float64
	covariancePath []float64
	move           []float64 // last move of the mean in units of sigma, as a y
	whiteMove      []float64 // the same as a z

	z, y, x, sent blas64.General // the population: standard normal, shaped, as points, and the points as handed out
	rows          [][]float64    // of x
	order         []int          // rows from best to worst
	values        []float64      // as told, NaN made +Inf
	weightsNow    []float64
	injected      []bool // rows that were not drawn from the distribution
	proposals     [][]float64

	iterations, evaluations int
	best                    []float64
	bestValue               float64
	bestAt                  int // evaluations when best was told
	stop                    stopState
}

// New starts a run at mean with standard deviation sigma in every coordinate, times [Deviations] where given.
func New(mean []float64, sigma float64, options ...Option) (*Optimizer, error) {
	n := len(mean)
	if n == 0 {
		return nil, errors.New("cmaes: the mean has no coordinates")
	}
	if i := notFinite(mean); i >= 0 {
		return nil, fmt.Errorf("cmaes: coordinate %d of the mean is %v", i, mean[i])
	}
	if !(sigma > 0) || math.IsInf(sigma, 0) {
		return nil, fmt.Errorf("cmaes: sigma is %v, not a positive number", sigma)
	}
	s, err := newSettings(n, options)
	if err != nil {
		return nil, err
	}
	bounds, err := newBox(n, s.lower, s.upper)
	if err != nil {
		return nil, err
	}
	return start(mean, sigma, s, bounds), nil
}

func start(mean []float64, sigma float64, s settings, bounds *box) *Optimizer {
	n := len(mean)
	lambda := s.population
	o := &Optimizer{
		settings: s, parameters: newParameters(n, lambda, s.separable, s.positive), n: n, bounds: bounds,
		random: rand.New(rand.NewPCG(s.seed, 0x636d6165730a)), scale: slices.Repeat([]float64{1}, n),
		mean: slices.Clone(mean), unit: make([]float64, n), sigma: sigma, sigma0: sigma,
		covariancePath: make([]float64, n), move: make([]float64, n), whiteMove: make([]float64, n),
		z: matrix(lambda, n), y: matrix(lambda, n), x: matrix(lambda, n), sent: matrix(lambda, n),
		order: make([]int, lambda), values: make([]float64, lambda), weightsNow: make([]float64, lambda),
		injected: make([]bool, lambda), bestValue: math.Inf(1),
	}
	if s.deviations != nil {
		copy(o.scale, s.deviations)
	}
	if s.separable {
		o.distribution = newSeparable(n)
	} else {
		o.distribution = newFull(n, lambda, o.parameters)
	}
	o.rule = newStepSize(s.stepSize, n, o.parameters)
	o.bounds.toInner(o.mean)
	o.rows = make([][]float64, lambda)
	for i := range o.rows {
		o.rows[i] = row(o.x, i)
	}
	o.stop.start(o)
	return o
}

// Ask draws a population: lambda rows of n coordinates. The rows belong to the optimiser, and the next Ask overwrites
// them. A caller may change them before Tell, which then learns from what they have become.
func (o *Optimizer) Ask() [][]float64 {
	o.setUnit()
	clear(o.injected)
	first := o.propose()
	z := below(o.z, first)
	y := below(o.y, first)
	normals(z.Data, o.random)
	o.distribution.sample(y, z)
	for r := range o.rows {
		from := row(o.y, r)
		to := o.rows[r]
		for i, m := range o.mean {
			to[i] = m + o.unit[i]*from[i] // (40)
		}
		o.bounds.toOuter(to)
	}
	copy(o.sent.Data, o.x.Data)
	return o.rows
}

func (o *Optimizer) setUnit() {
	for i, s := range o.scale {
		o.unit[i] = o.sigma * s
	}
}

// Tell gives the values fs of the points xs, lower is better, and moves the distribution. NaN and +Inf rank last. The
// rows of xs are those of Ask, in their order; a row that differs from what Ask gave counts as a proposal from outside,
// see [Optimizer.Inject]. Arguments of the wrong size, or that are not finite, are an error that leaves the run as it
// was. A covariance that is no longer positive definite is an error that ends it.
func (o *Optimizer) Tell(xs [][]float64, fs []float64) error {
	if err := o.check(xs, fs); err != nil {
		return err
	}
	if o.evaluations == 0 && o.unit[0] == 0 { // Tell before the first Ask: every point is from outside
		o.setUnit()
	}
	o.iterations++
	o.rank(xs, fs)
	for r, x := range xs {
		if !slices.Equal(x, row(o.sent, r)) {
			o.adopt(r, x)
		}
	}
	o.moveMean()
	o.adaptCovariance()
	o.sigma *= o.rule.factor(o)
	err := o.distribution.refresh()
	o.stop.update(o)
	return err
}

func (o *Optimizer) check(xs [][]float64, fs []float64) error {
	if len(xs) != o.population || len(fs) != o.population {
		return fmt.Errorf("cmaes: told %d points and %d values, for a population of %d", len(xs), len(fs), o.population)
	}
	for r, x := range xs {
		if len(x) != o.n {
			return fmt.Errorf("cmaes: point %d has %d coordinates, not %d", r, len(x), o.n)
		}
		if i := notFinite(x); i >= 0 {
			return fmt.Errorf("cmaes: coordinate %d of point %d is %v", i, r, x[i])
		}
	}
	return nil
}

func notFinite(x []float64) int {
	return slices.IndexFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// rank sorts the points by value, the first told first among equals, and keeps the best ever.
func (o *Optimizer) rank(xs [][]float64, fs []float64) {
	for r, f := range fs {
		if math.IsNaN(f) {
			f = math.Inf(1)
		}
		o.values[r] = f
		o.order[r] = r
	}
	slices.SortStableFunc(o.order, func(a, b int) int {
		switch {
		case o.values[a] < o.values[b]:
			return -1
		case o.values[a] > o.values[b]:
			return 1
		}
		return 0
	})
	o.evaluations += len(fs)
	if top := o.order[0]; o.values[top] < o.bestValue {
		o.best = append(o.best[:0], xs[top]...)
		o.bestValue = o.values[top]
		o.bestAt = o.evaluations
	}
}

// moveMean is eqs. (41) and (42).
func (o *Optimizer) moveMean() {
	clear(o.move)
	for k, w := range o.weights[:o.mu] {
		axpy(w, row(o.y, o.order[k]), o.move)
	}
	o.distribution.whiten(o.whiteMove, o.move)
	for i, y := range o.move {
		o.mean[i] += o.unit[i] * y
	}
}

// adaptCovariance is eqs. (45) to (47).
func (o *Optimizer) adaptCovariance() {
	heaviside := 0.0
	if o.rule.calm(o) {
		heaviside = 1
	}
	pull := heaviside * math.Sqrt(o.cc*(2-o.cc)*o.mueff)
	for i, v := range o.distribution.path(o.move, o.whiteMove) {
		o.covariancePath[i] = (1-o.cc)*o.covariancePath[i] + pull*v // (45)
	}
	// Where the path stands still, the variance it would have added is not lost: delta of eq. (47).
	decay := o.c1 * (1 - (1-heaviside)*o.cc*(2-o.cc))
	for k, w := range o.weights {
		if w < 0 && o.injected[o.order[k]] {
			w = 0 // a bad guess from outside says nothing about the distribution
		}
		o.weightsNow[k] = o.cmu * w
		decay += o.weightsNow[k]
	}
	o.distribution.update(generation{
		path: o.covariancePath, pathWeight: o.c1, decay: decay,
		y: o.y, z: o.z, order: o.order, weights: o.weightsNow,
	})
}
