package cmaes

import (
	"math"
	"slices"
)

// Criteria say when a run is over: section B.3 of the tutorial, with the defaults of PyPI cma 4.5.0. A zero field has
// its default, a negative one is off.
type Criteria struct {
	X          float64 // all deviations, and the covariance path, below X. Default 1e-11
	Fun        float64 // values of this generation, and best ones of the last 10 + 30 n / lambda, within Fun. Default 1e-11
	FunHistory float64 // the best values alone within FunHistory. Default 1e-12
	Condition  float64 // condition number of the covariance above Condition. Default 1e14
	Divergence float64 // a deviation above Divergence times its first value. Default 1e3
	Stagnation int     // generations without progress of best and median. Default 100 + 100 n^1.5 / lambda
	Flat       int     // more than Flat generations in a row whose best three quarters have one value. Default 1
	Iterations int     // generations. Default 100 + 150 (n+3)² / sqrt(lambda)
	Evals      int     // evaluations. Default: no limit
}

func (c Criteria) withDefaults(n, lambda float64) Criteria {
	number := func(v *float64, standard float64) {
		if *v == 0 {
			*v = standard
		}
	}
	count := func(v *int, standard float64) {
		if *v == 0 {
			*v = int(math.Min(standard, math.MaxInt32))
		}
	}
	number(&c.X, 1e-11)
	number(&c.Fun, 1e-11)
	number(&c.FunHistory, 1e-12)
	number(&c.Condition, 1e14)
	number(&c.Divergence, 1e3)
	count(&c.Stagnation, 100+100*math.Pow(n, 1.5)/lambda)
	count(&c.Flat, 1)
	count(&c.Iterations, 100+math.Floor(150*(n+3)*(n+3)/math.Sqrt(lambda)))
	return c
}

// Stop says whether the run is over, and why: "target", "evaluations", "iterations", "tolx", "tolfun", "tolfunhist",
// "condition", "divergence", "stagnation", "flat" or "no effect". A caller may go on all the same.
func (o *Optimizer) Stop() (reason string, stop bool) { return o.stop.reason, o.stop.reason != "" }

// stopState is what the criteria remember.
type stopState struct {
	limits       Criteria
	reason       string
	recent       []float64 // best values of the last generations
	bests        []float64 // best value of every fifth generation
	medians      []float64 // median of every fifth generation
	flat         int       // generations in a row
	axis         []float64
	sorted, half []float64
}

func (s *stopState) start(o *Optimizer) {
	s.limits = o.criteria.withDefaults(float64(o.n), float64(o.population))
	s.axis = make([]float64, o.n)
	s.sorted = make([]float64, o.population)
}

func (s *stopState) update(o *Optimizer) {
	for k, r := range o.order {
		s.sorted[k] = o.values[r]
	}
	s.recent = append(s.recent, s.sorted[0])
	if keep := 10 + 30*o.n/o.population; len(s.recent) > keep {
		s.recent = slices.Delete(s.recent, 0, len(s.recent)-keep)
	}
	if o.iterations%5 == 0 {
		s.bests = append(s.bests, s.sorted[0])
		s.medians = append(s.medians, median(s.sorted))
	}
	s.flat++
	if s.sorted[0] < s.sorted[len(s.sorted)*3/4] {
		s.flat = 0
	}
	s.reason = ""
	for _, c := range []struct {
		name string
		met  bool
	}{
		{"target", o.bestValue <= o.target},
		{"evaluations", s.limits.Evals > 0 && o.evaluations >= s.limits.Evals},
		{"iterations", s.limits.Iterations > 0 && o.iterations >= s.limits.Iterations},
		{"tolx", s.still(o)},
		{"tolfun", spread(s.sorted) < s.limits.Fun && spread(s.recent) < s.limits.Fun},
		{"tolfunhist", len(s.recent) > 9 && spread(s.recent) < s.limits.FunHistory},
		{"condition", s.limits.Condition > 0 && o.distribution.condition() > s.limits.Condition},
		{"divergence", s.diverged(o)},
		{"stagnation", s.stagnant(o)},
		{"flat", s.limits.Flat > 0 && s.flat > s.limits.Flat},
		{"no effect", s.noEffect(o)},
	} {
		if c.met {
			s.reason = c.name
			return
		}
	}
}

func (s *stopState) still(o *Optimizer) bool {
	for i, unit := range o.scale {
		unit *= o.sigma
		if unit*o.distribution.deviation(i) >= s.limits.X || unit*o.covariancePath[i] >= s.limits.X {
			return false
		}
	}
	return true
}

func (s *stopState) diverged(o *Optimizer) bool {
	if s.limits.Divergence < 0 {
		return false
	}
	for i := range o.n {
		if !(o.sigma*o.distribution.deviation(i) <= o.sigma0*s.limits.Divergence) {
			return true
		}
	}
	return false
}

// stagnant compares the medians of two stretches of the long histories; the best must be an old one too.
func (s *stopState) stagnant(o *Optimizer) bool {
	window := s.limits.Stagnation
	early := float64(o.iterations) <= float64(o.n)*(5+100/float64(o.population))
	recent := (o.evaluations-o.bestAt)/o.population <= window/2
	l := max(window/10, len(s.bests)/10, 1)
	if window < 0 || early || recent || len(s.bests) <= 100 || len(s.bests) <= 2*l {
		return false
	}
	return s.worse(s.bests, l) && s.worse(s.medians, l)
}

// worse says whether the last l values have a median no better than the l before.
func (s *stopState) worse(history []float64, l int) bool {
	end := len(history)
	return s.middle(history[end-l:]) >= s.middle(history[end-2*l:end-l])
}

func (s *stopState) middle(v []float64) float64 {
	s.half = append(s.half[:0], v...)
	slices.Sort(s.half)
	return median(s.half)
}

// noEffect: a fifth of a deviation in some coordinate, or a tenth along one axis, one axis a generation in turn, no
// longer changes the mean.
func (s *stopState) noEffect(o *Optimizer) bool {
	for i, m := range o.mean {
		if m == m+0.2*o.sigma*o.scale[i]*o.distribution.deviation(i) {
			return true
		}
	}
	if !o.distribution.axis(s.axis, o.iterations) {
		return false
	}
	for i, m := range o.mean {
		if m != m+0.1*o.sigma*o.scale[i]*s.axis[i] {
			return false
		}
	}
	return true
}

func median(sorted []float64) float64 {
	i := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[i]
	}
	return (sorted[i-1] + sorted[i]) / 2
}

// spread is NaN, below nothing, where all are +Inf.
func spread(v []float64) float64 { return slices.Max(v) - slices.Min(v) }
