package cmaes

import "math"

// parameters are the constants of a strategy. They depend on the dimension n and the population size lambda only.
type parameters struct {
	weights []float64 // lambda recombination weights, best first: positive ones sum to 1, then negative ones
	mu      int       // number of positive weights
	mueff   float64   // variance effective selection mass, eq. (8)
	cs      float64   // decay of the step-size path
	damps   float64   // damping of the step size by path length
	cc      float64   // decay of the covariance path
	c1, cmu float64   // learning rates of the rank-one and the rank-mu update
	chi     float64   // expected length of a standard normal vector
}

// newParameters returns Table 1 of the tutorial, with the learning rates of Ros and Hansen 2008, which have n in place
// of n² degrees of freedom, and the constants of PyPI cma 4.5.0.
func newParameters(n, lambda int) parameters {
	var p parameters
	p.weights, p.mu, p.mueff = rawWeights(lambda)
	p.setStepSize(float64(n))
	p.setLearningRates(float64(n))
	p.scaleNegativeWeights()
	p.chi = math.Sqrt(float64(n)) * (1 - 1/(4*float64(n)) + 1/(21*float64(n)*float64(n)))
	return p
}

// rawWeights returns the weights of eq. (49), the positive ones normalised to a sum of 1 as in eq. (53).
func rawWeights(lambda int) (w []float64, mu int, mueff float64) {
	w = make([]float64, lambda)
	var sum, squares float64
	for i := range w {
		w[i] = math.Log(float64(lambda+1)/2) - math.Log(float64(i+1))
		if w[i] > 0 {
			mu++
			sum += w[i]
			squares += w[i] * w[i]
		}
	}
	for i := range w {
		w[i] /= sum
	}
	return w, mu, sum * sum / squares
}

// setStepSize sets cs and damps, eq. (55). Beyond the tutorial, cs is at most 1/2 and damps grows faster with mueff/n.
func (p *parameters) setStepSize(n float64) {
	p.cs = math.Min(0.5, (p.mueff+2)/(n+p.mueff+3))
	large := math.Max(1, 3*(1-math.Pow(0.5, n/9)))
	p.damps = 1 + p.cs + 2*math.Max(0, large*math.Sqrt((p.mueff-1)/(n+1))-1)
}

// setLearningRates sets cc, c1 and cmu for a diagonal matrix (Ros and Hansen 2008).
func (p *parameters) setLearningRates(n float64) {
	p.cc = (1 + 1/n + p.mueff/n) / (math.Sqrt(n) + 1/n + 2*p.mueff/n)
	p.c1 = 1 / (n + 2*math.Sqrt(n) + p.mueff/n)
	p.cmu = math.Min(1-p.c1, (0.25+p.mueff+1/p.mueff-2)/(n+4*math.Sqrt(n)+p.mueff/2))
}

// scaleNegativeWeights bounds the sum of the negative weights: the matrix neither decays on average, eq. (50), nor is
// pushed harder than its effective mass allows, eq. (51). Eq. (52), for a positive definite matrix, is not needed: the
// deviations change by positive factors.
func (p *parameters) scaleNegativeWeights() {
	var sum, squares float64
	for _, w := range p.weights[p.mu:] {
		sum -= w
		squares += w * w
	}
	if sum == 0 {
		return
	}
	total := 1 + 2*(sum*sum/squares)/(p.mueff+2) // (51)
	if p.cmu > 0 {
		total = math.Min(total, 1+p.c1/p.cmu) // (50)
	}
	for i := p.mu; i < len(p.weights); i++ {
		p.weights[i] *= total / sum
	}
}
