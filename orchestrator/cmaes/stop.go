package cmaes

// The stop criteria of section B.3 of the tutorial that look at the distribution, with the limits of PyPI cma 4.5.0.
// Those that look at the history of the values are left out: a caller whose values change in steps, as those of decoded
// molecules do, cannot use them.
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

func (o *Optimizer) hasDiverged() bool {
	for _, deviation := range o.covariance.deviations {
		if !(o.sigma*deviation <= o.sigma0*maxDivergence) { // true for NaN too
			return true
		}
	}
	return false
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
