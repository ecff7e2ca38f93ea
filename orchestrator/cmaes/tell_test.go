package cmaes

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestWrongSettingsAreRefused(t *testing.T) {
	two := []float64{0, 0}
	for want, make := range map[string]func() (*Optimizer, error){
		"no coordinates":           func() (*Optimizer, error) { return New(nil, 1) },
		"coordinate 1":             func() (*Optimizer, error) { return New([]float64{0, math.NaN()}, 1) },
		"sigma is 0":               func() (*Optimizer, error) { return New(two, 0) },
		"sigma is NaN":             func() (*Optimizer, error) { return New(two, math.NaN()) },
		"population of 1":          func() (*Optimizer, error) { return New(two, 1, Population(1)) },
		"deviation 1 is -1":        func() (*Optimizer, error) { return New(two, 1, Deviations([]float64{1, -1})) },
		"3 lower bounds":           func() (*Optimizer, error) { return New(two, 1, Bounds([]float64{1, 1, 1}, nil)) },
		"enclose nothing":          func() (*Optimizer, error) { return New(two, 1, Bounds([]float64{1, 1}, []float64{1, 2})) },
		"population of at least 3": func() (*Optimizer, error) { return New(two, 1, Population(2), AdaptStepSize(TwoPoint)) },
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestWrongPointsAreRefusedAndChangeNothing(t *testing.T) {
	o := must(t, constant(3, 1), 1)
	xs := o.Ask()
	before := o.Mean()
	if o.Tell(xs, make([]float64, 2)) == nil || o.Tell(xs[1:], make([]float64, len(xs)-1)) == nil {
		t.Error("a wrong number of values was taken")
	}
	xs[2][1] = math.Inf(1)
	if err := o.Tell(xs, make([]float64, len(xs))); err == nil || !strings.Contains(err.Error(), "coordinate 1 of point 2") {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(before, o.Mean()) || o.Evaluations() != 0 {
		t.Error("a refused Tell changed the run")
	}
}

func TestPointsWithoutValueRankLast(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		o := must(t, constant(5, 1), 0.5, Target(1e-8))
		calls := 0
		reason := run(t, o, func(x []float64) float64 {
			if calls++; calls%3 == 0 {
				return bad
			}
			return sphere(x)
		})
		if x, f := o.Best(); reason != "target" || f > 1e-8 || sphere(x) != f {
			t.Errorf("stopped by %q at %v", reason, f)
		}
	}
	o := must(t, constant(5, 1), 0.5)
	o.generationOf(t, func([]float64) float64 { return math.NaN() })
	if x, f := o.Best(); x != nil || !math.IsInf(f, 1) {
		t.Errorf("best of nothing is %v, %v", x, f)
	}
	if i := notFinite(o.Mean()); i >= 0 {
		t.Errorf("the mean is %v", o.Mean())
	}
}

func TestBoundsHold(t *testing.T) {
	lower, upper := constant(6, 0.5), []float64{2, 2, 2, 2, math.Inf(1), math.Inf(1)}
	o := must(t, constant(6, 1), 1, Bounds(lower, upper), Seed(2))
	reason := run(t, o, func(x []float64) float64 {
		for i, v := range x {
			if v < lower[i] || v > upper[i] {
				t.Fatalf("coordinate %d is %v", i, v)
			}
		}
		return sphere(x)
	})
	if _, f := o.Best(); f > 6*0.25+1e-8 {
		t.Errorf("stopped by %q at %v, not at the corner", reason, f)
	}
	s := o.bounds.sides[0]
	for _, x := range []float64{0.5, 0.52, 0.6, 1.3, 1.9, 1.97, 2} {
		if got := s.outer(s.inner(x)); math.Abs(got-x) > 1e-12 {
			t.Errorf("%v comes back as %v", x, got)
		}
	}
}

func TestInjectedPointsAreAsked(t *testing.T) {
	o := must(t, constant(4, 3), 2, Target(1e-8))
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
		t.Error("a wrong proposal was taken")
	}
}

func TestChangedPointsAreLearntFrom(t *testing.T) {
	o := must(t, constant(6, 2), 0.5, Target(1e-6))
	for i := range 400 {
		xs := o.Ask()
		fs := make([]float64, len(xs))
		for r, x := range xs {
			if r == i%len(xs) {
				x[0] *= 0.9 // a repair in place
			}
			fs[r] = sphere(x)
		}
		if err := o.Tell(xs, fs); err != nil {
			t.Fatal(err)
		}
	}
	if _, f := o.Best(); f > 1e-6 {
		t.Errorf("best is %v", f)
	}
}

func TestStopReasons(t *testing.T) {
	for want, c := range map[string]struct {
		f        func([]float64) float64
		criteria Criteria
	}{
		"flat":        {func([]float64) float64 { return 1 }, Criteria{Fun: -1, FunHistory: -1}},
		"tolfun":      {sphere, Criteria{}},
		"tolx":        {sphere, Criteria{Fun: -1, FunHistory: -1, X: 1e-5}},
		"iterations":  {sphere, Criteria{Iterations: 7}},
		"evaluations": {sphere, Criteria{Evals: 50}},
		"divergence":  {func(x []float64) float64 { return x[0] }, Criteria{}},
		"condition":   {ellipsoid, Criteria{Condition: 100}},
	} {
		if got := run(t, must(t, constant(5, 1), 1, StopAt(c.criteria)), c.f); got != want {
			t.Errorf("stopped by %q, not %q", got, want)
		}
	}
}

func TestRestartKeepsSettings(t *testing.T) {
	o := must(t, constant(5, 1), 1, Separable(), Target(1e-9), Seed(8))
	run(t, o, sphere)
	again, err := o.Restart(constant(5, 2), 0.5, Population(2*o.Population()))
	if err != nil {
		t.Fatal(err)
	}
	if again.Population() != 2*o.Population() || !again.separable || again.Evaluations() != 0 || again.Sigma() != 0.5 {
		t.Error("the restart is not what was asked")
	}
	if reason := run(t, again, sphere); reason != "target" {
		t.Errorf("stopped by %q", reason)
	}
	if _, err := o.Restart(constant(4, 1), 1); err == nil {
		t.Error("a start of another dimension was taken")
	}
}
