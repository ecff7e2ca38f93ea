package calibration

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Beta maps a logit x to a score from 0 to 1 by beta calibration (Kull, Silva Filho and Flach 2017, Beta calibration: a
// well-founded and easily implemented improvement on logistic calibration for binary classifiers, AISTATS):
//
//	1/(1+exp(-(Offset - Low*ln(1+exp(-x)) + High*ln(1+exp(x)))))
//
// The log odds of the score have the slope Low for logits far below 0 and High for those far above. In the paper, Low
// is a, High b and Offset c. Low and High are above 0, so the score rises with the logit.
type Beta struct{ Low, High, Offset float64 }

// Identity is the map of a model without calibration: the logistic function of its logit.
var Identity = Beta{Low: 1, High: 1}

// Score returns the score of a logit.
func (b Beta) Score(logit float32) float64 {
	x := float64(logit)
	// ln(1+exp(x)) = max(x, 0) + bend, without overflow
	bend := math.Log1p(math.Exp(-math.Abs(x)))
	return 1 / (1 + math.Exp(-(b.Low*min(x, 0) + b.High*max(x, 0) + (b.High-b.Low)*bend + b.Offset)))
}

// String returns the three numbers with five significant digits, as ParseBeta reads them.
func (b Beta) String() string {
	var numbers []string
	for _, x := range []float64{b.Low, b.High, b.Offset} {
		numbers = append(numbers, strconv.FormatFloat(x, 'g', 5, 64))
	}
	return strings.Join(numbers, " ")
}

// mostNumber bounds the numbers of a Beta.
const mostNumber = 1e6

// ParseBeta reads Low, High and Offset, separated by spaces.
func ParseBeta(text string) (Beta, error) {
	fields := strings.Fields(text)
	var numbers [3]float64
	for i, field := range fields {
		x, err := strconv.ParseFloat(field, 64)
		if err != nil || !(math.Abs(x) <= mostNumber) || i >= len(numbers) {
			return Beta{}, fmt.Errorf("%q: must be three numbers, of at most %g", text, mostNumber)
		}
		numbers[i] = x
	}
	b := Beta{Low: numbers[0], High: numbers[1], Offset: numbers[2]}
	switch {
	case len(fields) != len(numbers):
		return Beta{}, fmt.Errorf("%q: must be three numbers", text)
	case b.Low <= 0 || b.High <= 0:
		return Beta{}, fmt.Errorf("%q: the first two numbers must be above 0", text)
	}
	return b, nil
}

// Pair is a logit with its judgement.
type Pair struct {
	Logit    float32
	Relevant bool
}

// leastSlope replaces a slope that would be negative. The authors' program has 0 then, with which scores do not rise.
const leastSlope = 0.001

// Fit fits a Beta to pairs. The targets are those of Platt's method (1999, Probabilistic outputs for support vector
// machines), a little away from 0 and 1, so that few or separable pairs do not give infinite slopes.
func Fit(pairs []Pair) (Beta, error) {
	var relevant, others float64
	for _, p := range pairs {
		if p.Relevant {
			relevant++
		} else {
			others++
		}
	}
	if relevant == 0 || others == 0 {
		return Beta{}, errors.New("a calibration needs relevant pairs and others")
	}
	f := newFit(pairs, (relevant+1)/(relevant+2), 1/(others+2))
	for features := []int{low, high, offset}; len(features) > 1; {
		weights := f.minimize(features, math.Log((relevant+1)/(others+1)))
		if i := slices.IndexFunc(features, func(j int) bool { return j != offset && !(weights[j] > 0) }); i >= 0 {
			features = slices.Delete(features, i, i+1)
			continue
		}
		return Beta{
			Low:    max(weights[low], leastSlope),
			High:   max(weights[high], leastSlope),
			Offset: weights[offset],
		}, nil
	}
	return Beta{}, errors.New("the logits of relevant pairs are not higher than those of the others")
}

// The features of a pair, whose weights are the numbers of a Beta.
const (
	low = iota
	high
	offset
	featureCount
)

type weights [featureCount]float64

// fit is a logistic regression on features of pairs.
type fit struct {
	features []weights
	targets  []float64
}

func newFit(pairs []Pair, relevant, other float64) *fit {
	f := &fit{}
	for _, p := range pairs {
		x := float64(p.Logit)
		bend := math.Log1p(math.Exp(-math.Abs(x)))
		f.features = append(f.features, weights{low: min(x, 0) - bend, high: max(x, 0) + bend, offset: 1})
		target := other
		if p.Relevant {
			target = relevant
		}
		f.targets = append(f.targets, target)
	}
	return f
}

// Bounds of the minimization, as in Lin, Lin and Weng (2007, A note on Platt's probabilistic outputs for support vector
// machines, Machine Learning 68, 267-276).
const (
	maxIterations = 100
	minStep       = 1e-10
	ridge         = 1e-12 // keeps the Hessian positive definite
	sufficient    = 1e-4  // share of the decrease that the gradient predicts
	tolerance     = 1e-9  // of each element of the gradient
)

// minimize returns the weights of the given features with the least loss, by the Newton method with backtracking. The
// others are 0.
func (f *fit) minimize(features []int, start float64) (w weights) {
	w[offset] = start
	loss := f.loss(w)
	for range maxIterations {
		gradient, hessian := f.derivatives(w, features)
		if mat.Norm(gradient, math.Inf(1)) < tolerance {
			break
		}
		var cholesky mat.Cholesky
		var step mat.VecDense
		if !cholesky.Factorize(hessian) || cholesky.SolveVecTo(&step, gradient) != nil {
			break // to rounding, the loss does not depend on some weight
		}
		predicted := mat.Dot(gradient, &step)
		size := 1.0
		for ; size >= minStep; size /= 2 {
			next := w
			for i, j := range features {
				next[j] -= size * step.AtVec(i)
			}
			if value := f.loss(next); value < loss-sufficient*size*predicted {
				w, loss = next, value
				break
			}
		}
		if size < minStep { // the loss is least, to rounding
			break
		}
	}
	return w
}

// logOdds returns the log odds of the score of a pair.
func (w weights) logOdds(features weights) (sum float64) {
	for i := range w {
		sum += w[i] * features[i]
	}
	return sum
}

// loss returns the mean cross entropy.
func (f *fit) loss(w weights) (sum float64) {
	for i, features := range f.features {
		x := w.logOdds(features)
		sum += max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) - f.targets[i]*x
	}
	return sum / float64(len(f.features))
}

// derivatives returns the gradient and the Hessian of the loss by the weights of some features.
func (f *fit) derivatives(w weights, some []int) (*mat.VecDense, *mat.SymDense) {
	gradient, hessian := mat.NewVecDense(len(some), nil), mat.NewSymDense(len(some), nil)
	n := float64(len(f.features))
	for i, features := range f.features {
		score := 1 / (1 + math.Exp(-w.logOdds(features)))
		for a, j := range some {
			gradient.SetVec(a, gradient.AtVec(a)+(score-f.targets[i])*features[j]/n)
			for b, k := range some[a:] {
				value := hessian.At(a, a+b) + score*(1-score)*features[j]*features[k]/n
				hessian.SetSym(a, a+b, value)
			}
		}
	}
	for a := range some {
		hessian.SetSym(a, a, hessian.At(a, a)+ridge)
	}
	return gradient, hessian
}
