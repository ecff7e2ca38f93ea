package cmaes

import (
	"math"
	"slices"
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

// rotated turns each pair of neighbours by 45 degrees, so that no axis of the ellipsoid is a coordinate.
func rotated(x []float64) float64 {
	y := slices.Clone(x)
	for i := range len(y) - 1 {
		y[i], y[i+1] = (y[i]+y[i+1])/math.Sqrt2, (y[i+1]-y[i])/math.Sqrt2
	}
	return ellipsoid(y)
}

func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func must(t *testing.T, mean []float64, sigma float64, options ...Option) *Optimizer {
	t.Helper()
	o, err := New(mean, sigma, options...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// generation asks, evaluates and tells once.
func (o *Optimizer) generationOf(t *testing.T, f func([]float64) float64) {
	t.Helper()
	xs := o.Ask()
	fs := make([]float64, len(xs))
	for i, x := range xs {
		fs[i] = f(x)
	}
	if err := o.Tell(xs, fs); err != nil {
		t.Fatal(err)
	}
}

// run goes on until a stop, and gives its reason.
func run(t *testing.T, o *Optimizer, f func([]float64) float64) string {
	t.Helper()
	for {
		o.generationOf(t, f)
		if reason, stop := o.Stop(); stop {
			return reason
		}
	}
}

func TestReachesTheTarget(t *testing.T) {
	for _, c := range []struct {
		name     string
		f        func([]float64) float64
		n, limit int // evaluations: about 1.3 times what PyPI cma needs
		options  []Option
	}{
		{"sphere", sphere, 10, 1900, nil},
		{"ellipsoid", ellipsoid, 10, 5300, nil},
		{"rotated ellipsoid", rotated, 10, 5300, nil},
		{"rosenbrock", rosenbrock, 10, 8000, nil},
		{"positive weights", ellipsoid, 10, 9000, []Option{PositiveWeightsOnly()}},
		{"separable ellipsoid", ellipsoid, 40, 14000, []Option{Separable()}},
		{"two-point sphere", sphere, 40, 6500, []Option{AdaptStepSize(TwoPoint)}},
		{"cholesky sphere", sphere, 100, 15000, nil},
	} {
		for seed := range uint64(3) {
			o := must(t, constant(c.n, 1), 0.5, append(c.options, Seed(seed), Target(1e-8))...)
			if reason := run(t, o, c.f); reason != "target" || o.Evaluations() > c.limit {
				_, best := o.Best()
				t.Errorf("%s, seed %d: stopped by %q at %v after %d evaluations", c.name, seed, reason, best, o.Evaluations())
			}
		}
	}
}

func TestSameSeedSameRun(t *testing.T) {
	for _, options := range [][]Option{{Seed(3)}, {Seed(3), Separable()}, {Seed(3), AdaptStepSize(TwoPoint)}} {
		a, b := must(t, constant(80, 1), 1, options...), must(t, constant(80, 1), 1, options...)
		other := must(t, constant(80, 1), 1, append(options, Seed(4))...)
		for range 20 {
			a.generationOf(t, ellipsoid)
			b.generationOf(t, ellipsoid)
			other.generationOf(t, ellipsoid)
		}
		if !slices.Equal(a.Mean(), b.Mean()) || a.Sigma() != b.Sigma() {
			t.Error("the same seed gave two runs")
		}
		if slices.Equal(a.Mean(), other.Mean()) {
			t.Error("another seed gave the same run")
		}
	}
}

func TestOnlyTheOrderOfValuesCounts(t *testing.T) {
	a, b := must(t, constant(10, 1), 1), must(t, constant(10, 1), 1)
	for range 50 {
		a.generationOf(t, rosenbrock)
		b.generationOf(t, func(x []float64) float64 { return math.Exp(math.Sqrt(rosenbrock(x)) / 100) })
	}
	if !slices.Equal(a.Mean(), b.Mean()) {
		t.Error("a monotone change of the values changed the run")
	}
}

func TestTranslationAndScaleDoNotCount(t *testing.T) {
	a, b := must(t, constant(10, 1), 0.5), must(t, constant(10, 4), 1, Seed(0))
	for range 30 {
		a.generationOf(t, ellipsoid)
		b.generationOf(t, func(y []float64) float64 { // x = (y-2)/2
			x := slices.Clone(y)
			for i := range x {
				x[i] = (x[i] - 2) / 2
			}
			return ellipsoid(x)
		})
	}
	for i, v := range a.Mean() {
		if math.Abs(2*v+2-b.Mean()[i]) > 1e-6 {
			t.Fatalf("coordinate %d: %v and %v", i, 2*v+2, b.Mean()[i])
		}
	}
}

func TestRotationDoesNotCount(t *testing.T) {
	median := func(f func([]float64) float64) int {
		var evaluations []int
		for seed := range uint64(7) {
			o := must(t, constant(8, 1), 0.5, Seed(seed), Target(1e-8))
			run(t, o, f)
			evaluations = append(evaluations, o.Evaluations())
		}
		slices.Sort(evaluations)
		return evaluations[3]
	}
	plain, turned := median(ellipsoid), median(rotated)
	if ratio := float64(turned) / float64(plain); ratio < 0.8 || ratio > 1.25 {
		t.Errorf("%d evaluations along the axes, %d across them", plain, turned)
	}
}
