package cmaes

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func sphere(x []float64) (f float64) {
	for _, v := range x {
		f += v * v
	}
	return f
}

func ellipsoid(x []float64) (f float64) {
	for i, v := range x {
		f += math.Pow(1e6, float64(i)/float64(len(x)-1)) * v * v
	}
	return f
}

func rosenbrock(x []float64) (f float64) {
	for i, v := range x[:len(x)-1] {
		f += 100*(v*v-x[i+1])*(v*v-x[i+1]) + (1-v)*(1-v)
	}
	return f
}

func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

// newOptimizer starts a run with PyPI cma's default population.
func newOptimizer(t *testing.T, mean []float64, sigma float64, seed uint64) *Optimizer {
	t.Helper()
	o, err := New(mean, sigma, 4+int(3*math.Log(float64(len(mean)))), seed)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// step runs one generation and returns its best value.
func (o *Optimizer) step(t *testing.T, f func([]float64) float64) float64 {
	t.Helper()
	var values []float64
	for _, x := range o.Ask() {
		values = append(values, f(x))
	}
	if err := o.Tell(values); err != nil {
		t.Fatal(err)
	}
	return slices.Min(values)
}

// minimise runs until a value is at most target, and returns the number of evaluations.
func (o *Optimizer) minimise(t *testing.T, f func([]float64) float64, target float64) int {
	t.Helper()
	for o.step(t, f) > target {
		if o.ShouldStop() {
			t.Fatalf("the run stops after %d generations", o.generations)
		}
	}
	return o.generations * o.lambda
}

func TestReachesTheTarget(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     func([]float64) float64
		n     int
		limit int // evaluations: about 1.3 times what PyPI cma needs
	}{
		{"sphere", sphere, 10, 1500},
		{"ellipsoid", ellipsoid, 10, 2800},
		{"ellipsoid", ellipsoid, 40, 12500},
		{"sphere, two-point step size", sphere, 300, 25000},
	} {
		for seed := range uint64(3) {
			evaluations := newOptimizer(t, constant(c.n, 1), 0.5, seed).minimise(t, c.f, 1e-8)
			if evaluations > c.limit {
				t.Errorf("%s in %d dimensions, seed %d: %d evaluations", c.name, c.n, seed, evaluations)
			}
		}
	}
}

func TestSameSeedSameRun(t *testing.T) {
	for _, n := range []int{80, 300} {
		a := newOptimizer(t, constant(n, 1), 1, 3)
		b := newOptimizer(t, constant(n, 1), 1, 3)
		other := newOptimizer(t, constant(n, 1), 1, 4)
		for range 20 {
			a.step(t, ellipsoid)
			b.step(t, ellipsoid)
			other.step(t, ellipsoid)
		}
		if !slices.Equal(a.mean, b.mean) || a.sigma != b.sigma {
			t.Errorf("%d dimensions: two runs with the same seed differ", n)
		}
		if slices.Equal(a.mean, other.mean) {
			t.Errorf("%d dimensions: two runs with different seeds are equal", n)
		}
	}
}

func TestOnlyTheOrderOfValuesCounts(t *testing.T) {
	a := newOptimizer(t, constant(10, 1), 1, 0)
	b := newOptimizer(t, constant(10, 1), 1, 0)
	for range 50 {
		a.step(t, rosenbrock)
		b.step(t, func(x []float64) float64 { return math.Exp(math.Sqrt(rosenbrock(x)) / 100) })
	}
	if !slices.Equal(a.mean, b.mean) {
		t.Error("a monotone change of the values changed the run")
	}
}

func TestInvariantToTranslationAndScale(t *testing.T) {
	a := newOptimizer(t, constant(10, 1), 0.5, 0)
	b := newOptimizer(t, constant(10, 4), 1, 0)
	for range 30 {
		a.step(t, ellipsoid)
		b.step(t, func(y []float64) float64 { // x = (y-2)/2
			x := slices.Clone(y)
			for i := range x {
				x[i] = (x[i] - 2) / 2
			}
			return ellipsoid(x)
		})
	}
	for i, v := range a.mean {
		if math.Abs(2*v+2-b.mean[i]) > 1e-6 {
			t.Fatalf("coordinate %d: %v and %v", i, 2*v+2, b.mean[i])
		}
	}
}

func TestNewRefusesWrongSettings(t *testing.T) {
	two := []float64{0, 0}
	for want, c := range map[string]struct {
		mean   []float64
		sigma  float64
		lambda int
	}{
		"no coordinates":  {nil, 1, 6},
		"coordinate 1":    {[]float64{0, math.NaN()}, 1, 6},
		"sigma is 0":      {two, 0, 6},
		"sigma is NaN":    {two, math.NaN(), 6},
		"population of 1": {two, 1, 1},
	} {
		if _, err := New(c.mean, c.sigma, c.lambda, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not contain %q", err, want)
		}
	}
}

func TestTellRefusesWrongNumberOfValues(t *testing.T) {
	o := newOptimizer(t, constant(3, 1), 1, 0)
	o.Ask()
	before := slices.Clone(o.mean)
	for _, count := range []int{0, o.lambda - 1, o.lambda + 1} {
		if o.Tell(make([]float64, count)) == nil {
			t.Errorf("%d values were accepted for %d points", count, o.lambda)
		}
	}
	if !slices.Equal(before, o.mean) || o.generations != 0 {
		t.Error("a refused Tell changed the run")
	}
}

func TestPointsWithoutValueRankLast(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		calls := 0
		f := func(x []float64) float64 {
			if calls++; calls%3 == 0 {
				return bad
			}
			return sphere(x)
		}
		o := newOptimizer(t, constant(5, 1), 0.5, 0)
		for range 200 {
			o.step(t, f)
		}
		if best := sphere(o.mean); best > 1e-8 {
			t.Errorf("with every third value %v the mean has the value %v", bad, best)
		}
	}
	o := newOptimizer(t, constant(5, 1), 0.5, 0)
	o.step(t, func([]float64) float64 { return math.NaN() })
	if i := indexNotFinite(o.mean); i >= 0 {
		t.Errorf("after a generation without values the mean is %v", o.mean)
	}
}

func TestInjectedPointsAreAsked(t *testing.T) {
	o := newOptimizer(t, constant(4, 3), 2, 0)
	if err := o.Inject(constant(4, 2.9)); err != nil {
		t.Fatal(err)
	}
	if x := o.Ask()[0]; math.Abs(x[2]-2.9) > 1e-12 {
		t.Errorf("a close proposal became %v", x)
	}
	if err := o.Inject(constant(4, 1000)); err != nil {
		t.Fatal(err)
	}
	x := o.Ask()[0]
	if math.Abs(x[0]-x[3]) > 1e-9 || x[0] < 3 || x[0] > 15 {
		t.Errorf("a far proposal became %v", x)
	}
	if o.Inject([]float64{1}) == nil || o.Inject(constant(4, math.NaN())) == nil {
		t.Error("a wrong proposal was accepted")
	}
}

// With the two-point rule the first two rows are taken from the second generation on, so proposals follow them, and the
// ones for which a generation has no row wait for the next.
func TestProposalsWaitForARow(t *testing.T) {
	o, err := New(constant(300, 1), 1, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.step(t, sphere)
	for _, offset := range []float64{0.001, 0.002} {
		proposal := slices.Clone(o.mean)
		proposal[0] += offset
		if err := o.Inject(proposal); err != nil {
			t.Fatal(err)
		}
	}
	mean := o.mean[0]
	if x := o.Ask(); math.Abs(x[2][0]-mean-0.001) > 1e-9 || len(o.proposals) != 1 {
		t.Errorf("row 2 is at %v from the mean, %d proposals are pending", x[2][0]-mean, len(o.proposals))
	}
	if x := o.Ask(); math.Abs(x[2][0]-mean-0.002) > 1e-9 || len(o.proposals) != 0 {
		t.Errorf("row 2 is at %v from the mean, %d proposals are pending", x[2][0]-mean, len(o.proposals))
	}
}

func TestShouldStop(t *testing.T) {
	for name, c := range map[string]struct {
		f           func([]float64) float64
		mean, sigma float64
		criterion   func(*Optimizer) bool
	}{
		"converged": {sphere, 1, 1, (*Optimizer).hasConverged},
		"diverged":  {func(x []float64) float64 { return x[0] }, 1, 1, (*Optimizer).hasDiverged},
		"stuck":     {sphere, 1e6, 1e-10, (*Optimizer).isStuck},
		"condition": {
			func(x []float64) float64 { return x[0]*x[0] + 1e20*x[1]*x[1] }, 1, 1,
			func(o *Optimizer) bool { return o.covariance.condition() > maxCondition },
		},
	} {
		o := newOptimizer(t, constant(2, c.mean), c.sigma, 0)
		for !o.ShouldStop() && o.generations < 2000 {
			o.step(t, c.f)
		}
		if !c.criterion(o) {
			t.Errorf("%s: after %d generations the criterion is not met", name, o.generations)
		}
	}
}
