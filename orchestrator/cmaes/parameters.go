package cmaes

import "math"

// parameters are the constants of a strategy: functions of the dimension n and the population size lambda only.
type parameters struct {
	weights []float64 // lambda recombination weights, best first: positive ones sum to 1, then negative ones
	mu      int       // number of positive weights
	mueff   float64   // variance effective selection mass, eq. (8)
	cs      float64   // decay of the step-size path
	damps   float64   // damping of the step size by path length
	cc      float64   // decay of the covariance path
	c1, cmu float64   // learning rates of the rank-one and the rank-mu update
	chi     float64   // expected length of a standard normal vector
	gap     float64   // generations between two decompositions
}

// defaultPopulation is eq. (48).
func defaultPopulation(n int) int { return 4 + int(3*math.Log(float64(n))) }

// newParameters gives Table 1 of the tutorial. c1, cmu and cc are those of eqs. (56) to (58), or their separable forms
// with n in place of n² degrees of freedom (Ros and Hansen 2008, with the constants of PyPI cma 4.5.0).
func newParameters(n, lambda int, separable, positiveOnly bool) parameters {
	var p parameters
	p.weights, p.mu, p.mueff = rawWeights(lambda)
	p.pathLength(float64(n))
	if separable {
		p.separableRates(float64(n))
	} else {
		p.fullRates(float64(n), float64(lambda))
	}
	if positiveOnly {
		clear(p.weights[p.mu:])
	} else {
		p.scaleNegative(float64(n), !separable)
	}
	p.chi = math.Sqrt(float64(n)) * (1 - 1/(4*float64(n)) + 1/(21*float64(n)*float64(n)))
	return p
}

// rawWeights is eq. (49), its positive part normalised to a sum of 1 as in eq. (53).
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

// pathLength sets cs and damps, eq. (55). Beyond the tutorial, cs is at most 1/2 and damps grows faster with mueff/n.
func (p *parameters) pathLength(n float64) {
	p.cs = math.Min(0.5, (p.mueff+2)/(n+p.mueff+3))
	large := math.Max(1, 3*(1-math.Pow(0.5, n/9)))
	p.damps = 1 + p.cs + 2*math.Max(0, large*math.Sqrt((p.mueff-1)/(n+1))-1)
}

func (p *parameters) fullRates(n, lambda float64) {
	p.cc = (4 + p.mueff/n) / (n + 4 + 2*p.mueff/n)                               // (56)
	p.c1 = math.Min(1, lambda/6) * 2 / ((n+1.3)*(n+1.3) + p.mueff)               // (57)
	p.cmu = math.Min(1-p.c1, 2*(0.25+p.mueff+1/p.mueff-2)/((n+2)*(n+2)+p.mueff)) // (58)
	p.gap = 1 / (10 * n * (p.c1 + p.cmu))                                        // section B.2
}

func (p *parameters) separableRates(n float64) {
	p.cc = (1 + 1/n + p.mueff/n) / (math.Sqrt(n) + 1/n + 2*p.mueff/n)
	p.c1 = 1 / (n + 2*math.Sqrt(n) + p.mueff/n)
	p.cmu = math.Min(1-p.c1, (0.25+p.mueff+1/p.mueff-2)/(n+4*math.Sqrt(n)+p.mueff/2))
}

// scaleNegative scales the negative weights, eqs. (50) to (53): the matrix neither decays on average (50), nor is
// pushed harder than its effective mass allows (51), nor, where asked, can lose positive definiteness (52).
func (p *parameters) scaleNegative(n float64, positiveDefinite bool) {
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
		if positiveDefinite {
			total = math.Min(total, (1-p.c1-p.cmu)/(p.cmu*n)) // (52)
		}
	}
	for i := p.mu; i < len(p.weights); i++ {
		p.weights[i] *= total / sum
	}
}
