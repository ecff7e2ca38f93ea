package cmaes

import (
	"errors"
	"fmt"
	"math"
)

// Option changes one setting of [New] from its default.
type Option func(*settings)

// StepSize names a rule that adapts sigma.
type StepSize int

const (
	// Automatic is PathLength below 300 dimensions and TwoPoint from there on, as PyPI cma chooses.
	Automatic StepSize = iota
	// PathLength is cumulative step-size adaptation, tutorial eqs. (43) and (44).
	PathLength
	// TwoPoint compares two points placed on either side of the mean along its last move: Hansen, CMA-ES with Two-Point
	// Step-Size Adaptation, https://arxiv.org/abs/0805.0231. The first two rows of [Optimizer.Ask] are those points.
	TwoPoint
)

// twoPointDimension is where Automatic turns to TwoPoint.
const twoPointDimension = 300

type settings struct {
	population   int
	seed         uint64
	separable    bool
	positive     bool
	stepSize     StepSize
	deviations   []float64
	lower, upper []float64
	criteria     Criteria
	target       float64
}

// Population sets lambda, the number of points in a generation, at least 2. Default 4 + floor(3 ln n), eq. (48).
func Population(lambda int) Option { return func(s *settings) { s.population = lambda } }

// Seed seeds the random numbers of the run. Default 0, which is a seed like any other.
func Seed(seed uint64) Option { return func(s *settings) { s.seed = seed } }

// Separable adapts one variance a coordinate in place of the full covariance matrix.
func Separable() Option { return func(s *settings) { s.separable = true } }

// PositiveWeightsOnly turns active adaptation (negative weights for the worse half, eqs. 51 to 53) off.
func PositiveWeightsOnly() Option { return func(s *settings) { s.positive = true } }

// AdaptStepSize chooses the rule that adapts sigma. Default Automatic.
func AdaptStepSize(rule StepSize) Option { return func(s *settings) { s.stepSize = rule } }

// Deviations gives each coordinate a unit: coordinate i starts with standard deviation sigma * stds[i].
func Deviations(stds []float64) Option { return func(s *settings) { s.deviations = stds } }

// Bounds keeps every point within lower <= x <= upper. Use -Inf and +Inf where a side is open; a nil slice leaves a
// whole side open. See [box] for how.
func Bounds(lower, upper []float64) Option {
	return func(s *settings) {
		s.lower = lower
		s.upper = upper
	}
}

// StopAt sets the criteria of [Optimizer.Stop].
func StopAt(c Criteria) Option { return func(s *settings) { s.criteria = c } }

// Target stops the run when a value told is at most f. Default -Inf: never.
func Target(f float64) Option { return func(s *settings) { s.target = f } }

func newSettings(n int, options []Option) (settings, error) {
	s := settings{population: defaultPopulation(n), target: math.Inf(-1)}
	for _, option := range options {
		option(&s)
	}
	if s.stepSize == Automatic {
		s.stepSize = PathLength
		if n >= twoPointDimension && s.population > 2 {
			s.stepSize = TwoPoint
		}
	}
	return s, s.check(n)
}

func (s *settings) check(n int) error {
	if s.population < 2 {
		return fmt.Errorf("cmaes: a population of %d; at least 2 are needed", s.population)
	}
	if s.stepSize != PathLength && s.stepSize != TwoPoint {
		return fmt.Errorf("cmaes: no step-size rule %d", s.stepSize)
	}
	if s.stepSize == TwoPoint && s.population < 3 {
		return errors.New("cmaes: the two-point step size needs a population of at least 3")
	}
	for i, d := range s.deviations {
		if !(d > 0) || math.IsInf(d, 0) {
			return fmt.Errorf("cmaes: deviation %d is %v, not a positive number", i, d)
		}
	}
	return errors.Join(
		checkLength("deviations", s.deviations, n),
		checkLength("lower bounds", s.lower, n),
		checkLength("upper bounds", s.upper, n))
}

func checkLength(what string, v []float64, n int) error {
	if v != nil && len(v) != n {
		return fmt.Errorf("cmaes: %d %s for %d dimensions", len(v), what, n)
	}
	return nil
}
