package calibration

import (
	"errors"
	"math"
)

// Logistic maps a logit to the score 1/(1+exp(-(Slope*logit+Offset))), from 0 to 1. Slope is above 0, so the score
// rises with the logit.
type Logistic struct{ Slope, Offset float64 }

// Identity is the map of a model without calibration: the logistic function of its logit.
var Identity = Logistic{Slope: 1}

// Score returns the score of a logit.
func (l Logistic) Score(logit float32) float64 {
	return 1 / (1 + math.Exp(-(l.Slope*float64(logit) + l.Offset)))
}

// Pair is a logit with its judgement.
type Pair struct {
	Logit    float32
	Relevant bool
}

// Bounds of the fit, from the algorithm of Lin, Lin and Weng.
const (
	maxIterations = 100
	minStep       = 1e-10
	ridge         = 1e-12 // keeps the Hessian positive definite
	sufficient    = 1e-4  // of the decrease that the gradient predicts
	tolerance     = 1e-8  // of the gradient, divided by the number of pairs
)

// Fit fits a Logistic to pairs by Platt's method (1999, Probabilistic outputs for support vector machines): maximum
// likelihood, with targets drawn a little from 0 and 1 so that few or separable pairs do not give an infinite slope. It
// uses the Newton method with backtracking of Lin, Lin and Weng (2007, A note on Platt's probabilistic outputs for
// support vector machines, Machine Learning 68, 267-276).
func Fit(pairs []Pair) (Logistic, error) {
	var relevant, others float64
	for _, p := range pairs {
		if p.Relevant {
			relevant++
		} else {
			others++
		}
	}
	if relevant == 0 || others == 0 {
		return Logistic{}, errors.New("a calibration needs relevant pairs and others")
	}
	high, low := (relevant+1)/(relevant+2), 1/(others+2)
	f := objective{pairs: pairs, high: high, low: low}
	l := Logistic{Offset: math.Log((relevant + 1) / (others + 1))}
	loss := f.loss(l)
	for range maxIterations {
		g1, g2, h11, h12, h22 := f.derivatives(l)
		if math.Abs(g1) < tolerance && math.Abs(g2) < tolerance {
			break
		}
		determinant := h11*h22 - h12*h12
		d1 := (h12*g2 - h22*g1) / determinant
		d2 := (h12*g1 - h11*g2) / determinant
		slope := g1*d1 + g2*d2
		step := 1.0
		for ; step >= minStep; step /= 2 {
			next := Logistic{Slope: l.Slope + step*d1, Offset: l.Offset + step*d2}
			if value := f.loss(next); value < loss+sufficient*step*slope {
				l, loss = next, value
				break
			}
		}
		if step < minStep { // the loss is at its minimum, to rounding
			break
		}
	}
	if !(l.Slope > 0) || math.IsInf(l.Slope, 0) {
		return Logistic{}, errors.New("the logits of relevant pairs are not higher than those of the others")
	}
	return l, nil
}

// objective is the mean cross entropy of the pairs, with the targets high for relevant ones and low for others.
type objective struct {
	pairs     []Pair
	high, low float64
}

func (f objective) target(p Pair) float64 {
	if p.Relevant {
		return f.high
	}
	return f.low
}

func (f objective) loss(l Logistic) (sum float64) {
	for _, p := range f.pairs {
		x := l.Slope*float64(p.Logit) + l.Offset
		// log(1+exp(x)) without overflow
		sum += max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) - f.target(p)*x
	}
	return sum / float64(len(f.pairs))
}

// derivatives returns the gradient and the Hessian by slope and offset.
func (f objective) derivatives(l Logistic) (g1, g2, h11, h12, h22 float64) {
	n := float64(len(f.pairs))
	for _, p := range f.pairs {
		x := float64(p.Logit)
		score := l.Score(p.Logit)
		d := (score - f.target(p)) / n
		w := score * (1 - score) / n
		g1 += d * x
		g2 += d
		h11 += w * x * x
		h12 += w * x
		h22 += w
	}
	return g1, g2, h11 + ridge, h12, h22 + ridge
}
