package cmaes

import (
	"fmt"
	"slices"
)

// Mean is the present centre of the search, within the bounds: a copy of n coordinates. It is often a better answer
// than any single point on a noisy function.
func (o *Optimizer) Mean() []float64 {
	mean := slices.Clone(o.mean)
	o.bounds.toOuter(mean)
	return mean
}

// Sigma is the present step size.
func (o *Optimizer) Sigma() float64 { return o.sigma }

// Best is the best point told and its value: nil and +Inf while none has had a value below +Inf.
func (o *Optimizer) Best() (x []float64, f float64) { return slices.Clone(o.best), o.bestValue }

// Population is lambda, the number of rows of Ask.
func (o *Optimizer) Population() int { return o.population }

// Iterations is the number of generations told.
func (o *Optimizer) Iterations() int { return o.iterations }

// Evaluations is the number of values told.
func (o *Optimizer) Evaluations() int { return o.evaluations }

// StandardDeviations is the present standard deviation of every coordinate, in the unit of the coordinate: a copy.
func (o *Optimizer) StandardDeviations() []float64 {
	stds := make([]float64, o.n)
	for i := range stds {
		stds[i] = o.sigma * o.scale[i] * o.distribution.deviation(i)
	}
	return stds
}

// Condition is the condition number of the covariance; above 64 dimensions in full mode, a lower bound of it.
func (o *Optimizer) Condition() float64 { return o.distribution.condition() }

// Restart gives a new run with the settings of this one, from another point: best, counts and learnt covariance begin
// anew, the random numbers go on. Options override settings; Population(2*o.Population()) makes an IPOP restart (Auger
// and Hansen, A Restart CMA Evolution Strategy With Increasing Population Size, CEC 2005).
func (o *Optimizer) Restart(mean []float64, sigma float64, options ...Option) (*Optimizer, error) {
	if len(mean) != o.n {
		return nil, fmt.Errorf("cmaes: a restart at %d coordinates of a run with %d", len(mean), o.n)
	}
	kept := o.settings
	kept.seed = o.random.Uint64()
	return New(mean, sigma, append([]Option{func(s *settings) { *s = kept }}, options...)...)
}
