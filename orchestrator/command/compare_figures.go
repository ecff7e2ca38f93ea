package command

import (
	"math/rand/v2"
	"slices"
)

// figure is the mean of a value over the rows of two models, and their difference.
type figure struct {
	Name       string  `json:"name"`
	A          float64 `json:"a"`
	B          float64 `json:"b"`
	Difference float64 `json:"difference"` // B - A
	Low        float64 `json:"low"`        // lower bound of the interval of the difference
	High       float64 `json:"high"`       // upper bound
	Better     string  `json:"better"`     // "A", "B", or "" if the interval contains 0
}

const (
	// resamples is the number of bootstrap samples, each of which gives a difference.
	resamples = 1000
	// tail is the share of the differences below the interval, and above it.
	tail = 0.025
)

// newFigure compares the values of two models, from 0 to 1, with the percentile bootstrap (Efron and Tibshirani, An
// Introduction to the Bootstrap, 1993, chapter 13). Paired rows are drawn together, others separately.
//
// Few rows, or rows that are all equal, say less than their own spread: the bootstrap of one row has no spread at all.
// So two rows are added to those that are drawn: a pair that each model wins, or a 0 and a 1 for each model (Agresti
// and Caffo, The American Statistician 54, 2000; for pairs Agresti and Min, Statistics in Medicine 24, 2005).
func newFigure(name string, a, b []float64, isPaired bool) figure {
	f := figure{Name: name, A: mean(a), B: mean(b)}
	f.Difference = f.B - f.A
	random := rand.New(rand.NewPCG(1, 2))
	differences := make([]float64, resamples)
	if isPaired {
		pairs := make([]float64, len(a), len(a)+2)
		for i := range a {
			pairs[i] = b[i] - a[i]
		}
		pairs = append(pairs, -1, 1)
		for i := range differences {
			differences[i] = resampledMean(random, pairs)
		}
	} else {
		a = append(slices.Clone(a), 0, 1)
		b = append(slices.Clone(b), 0, 1)
		for i := range differences {
			differences[i] = resampledMean(random, b) - resampledMean(random, a)
		}
	}
	slices.Sort(differences)
	f.Low = differences[int(tail*resamples)]
	f.High = differences[resamples-1-int(tail*resamples)]
	switch {
	case f.Low > 0:
		f.Better = "B"
	case f.High < 0:
		f.Better = "A"
	}
	return f
}

// mean returns the mean, 0 of no values.
func mean(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(max(1, len(values)))
}

// resampledMean returns the mean of as many values, drawn with replacement. There is at least one.
func resampledMean(random *rand.Rand, values []float64) float64 {
	sum := 0.0
	for range values {
		sum += values[random.IntN(len(values))]
	}
	return sum / float64(len(values))
}
