// Package cmaes is the covariance matrix adaptation evolution strategy, CMA-ES, with an ask and tell interface: floats
// in, floats out. It minimises; a caller who maximises negates.
//
//	opt, err := cmaes.New(start, 0.5, cmaes.Seed(7), cmaes.Separable())
//	for stop := false; !stop; _, stop = opt.Stop() {
//		population := opt.Ask()            // lambda rows of n coordinates, e.g. decoded in one call
//		err = opt.Tell(population, score(population))
//	}
//	x, f := opt.Best()
//
// Equation numbers in the comments are those of N. Hansen, The CMA Evolution Strategy: A Tutorial,
// https://arxiv.org/abs/1604.00772. Defaults follow the tutorial and, where that has moved on (population-dependent
// damping, two-point step size from 300 dimensions), the reference implementation, PyPI cma 4.5.0, so that the number
// of evaluations to a target is the same; scripts/bench/cmaes.py measures it.
//
// # Full or separable
//
// The full covariance learns rotated, ill-conditioned landscapes, and pays for it: n² numbers, a learning time of about
// n² / lambda generations. Separable ([Separable], Ros and Hansen, A Simple Modification in CMA-ES Achieving Linear
// Time and Space Complexity, PPSN 2008) learns one variance a coordinate, in O(n) time and memory, about n / 10 times
// faster.
//
// At 512 dimensions with 20 to 50 points a generation, a search of 30 to 200 generations ends long before the full
// matrix has learnt anything: its learning rates add up to about 5e-5 a generation. For such a search, and so for
// whitened latent spaces, Separable is the mode to use; full is for runs of more than about 100 n evaluations.
//
// # Large dimensions
//
// Up to [eigenLimit] dimensions the covariance is decomposed into eigenvectors, as in the tutorial. Above it, a
// Cholesky factor takes their place (Suttorp, Hansen and Igel, Efficient Covariance Matrix Update for Variable Metric
// Evolution Strategies, Machine Learning 75, 2009): the sampled distribution is the same, the step-size path is
// whitened with the triangular factor in place of the symmetric root, and the work per decomposition is about 200 times
// less than with the eigen decomposition available in pure Go. Both are lazy (section B.2 of the tutorial), and the
// vectors of the generations between are folded into the matrix by one symmetric rank-k product.
//
// # Determinism and concurrency
//
// The random source belongs to the optimiser: the same seed and the same values told give the same run. An Optimizer is
// for one goroutine at a time; separate optimisers share nothing.
package cmaes
