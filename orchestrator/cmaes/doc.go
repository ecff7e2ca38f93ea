// Package cmaes minimises a function of real vectors with the separable covariance matrix adaptation evolution
// strategy, sep-CMA-ES, through an ask and tell interface. A caller who maximises negates the values.
//
//	opt, err := cmaes.New(start, 0.5, 10, seed)
//	for !opt.ShouldStop() {
//		population := opt.Ask() // 10 rows of len(start) coordinates
//		err = opt.Tell(values(population))
//	}
//
// The separable form (Ros and Hansen, A Simple Modification in CMA-ES Achieving Linear Time and Space Complexity, PPSN
// 2008) learns one variance per coordinate, in O(n) time and memory. The full matrix is left out on purpose: at 512
// dimensions with 20 to 50 points a generation, its learning rates add up to about 5e-5 a generation, so a search of 30
// to 200 generations ends long before it has learnt anything.
//
// Equation numbers in the comments are those of N. Hansen, The CMA Evolution Strategy: A Tutorial,
// https://arxiv.org/abs/1604.00772. Constants follow the tutorial and, where that has moved on (population-dependent
// damping, two-point step size from 300 dimensions), the reference implementation, PyPI cma 4.5.0, so that the number
// of evaluations to a target is the same; scripts/bench/cmaes.py measures it.
//
// The random source belongs to the optimiser: the same seed and the same values give the same run. An Optimizer is for
// one goroutine at a time; separate optimisers share nothing.
//
// Terms:
//   - lambda: the population size, the number of points in a generation.
//   - sigma: the step size, the overall standard deviation.
//   - z: a standard normal vector. y: z times the standard deviations. x: a point, mean + sigma y.
//   - path: an exponentially fading sum of the moves of the mean.
package cmaes
