package cmaes

import "slices"

// The stop criteria of section B.3 of the tutorial that depend on the distribution, with the limits of PyPI cma 4.5.0.
// Those that depend on the history of the values are left out, because they mislead if values change in steps, as the
// values of decoded molecules do.
const (
	minDeviation  = 1e-11 // tolx
	maxCondition  = 1e14  // conditioncov
	maxDivergence = 1e3   // deviation in units of the first sigma: tolfacupx
)

// ShouldStop reports whether the run has converged, diverged or degenerated, so that more generations would be wasted.
func (o *Optimizer) ShouldStop() bool {
	return o.hasConverged() || o.covariance.condition() > maxCondition || o.hasDiverged() || o.isStuck()
}

// hasConverged reports whether all deviations and the covariance path are below minDeviation.
func (o *Optimizer) hasConverged() bool {
	for i, deviation := range o.covariance.deviations {
		if o.sigma*deviation >= minDeviation || o.sigma*o.covariancePath[i] >= minDeviation {
			return false
		}
	}
	return true
}

// hasDiverged reports whether a deviation is more than maxDivergence times the first sigma.
func (o *Optimizer) hasDiverged() bool {
	return slices.ContainsFunc(o.covariance.deviations, func(deviation float64) bool {
		return !(o.sigma*deviation <= o.sigma0*maxDivergence) // true for NaN too
	})
}

// isStuck reports whether a fifth of a deviation, in some coordinate, is too small to change the mean.
func (o *Optimizer) isStuck() bool {
	for i, m := range o.mean {
		if m == m+0.2*o.sigma*o.covariance.deviations[i] {
			return true
		}
	}
	return false
}
