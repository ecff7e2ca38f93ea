package calibration

import (
	"cmp"
	"math"
	"slices"
)

// Bins is the number of bins of an expected calibration error.
const Bins = 15

// Scored is a score with its judgement.
type Scored struct {
	Score    float64 // from 0 to 1
	Relevant bool
}

// EqualMass returns the expected calibration error over bins with the same number of scores, to one. Scores that are
// equal may be in different bins.
func EqualMass(scores []Scored) float64 {
	sorted := slices.Clone(scores)
	slices.SortStableFunc(sorted, func(a, b Scored) int { return cmp.Compare(a.Score, b.Score) })
	sum := 0.0
	for i := range Bins {
		sum += gap(sorted[i*len(sorted)/Bins : (i+1)*len(sorted)/Bins])
	}
	return sum / float64(len(scores))
}

// EqualWidth returns the expected calibration error over bins of the same width.
func EqualWidth(scores []Scored) float64 {
	var bins [Bins][]Scored
	for _, s := range scores {
		i := min(int(s.Score*Bins), Bins-1)
		bins[i] = append(bins[i], s)
	}
	sum := 0.0
	for _, bin := range bins {
		sum += gap(bin)
	}
	return sum / float64(len(scores))
}

// gap returns the difference between the sum of the scores of a bin and its relevant ones.
func gap(bin []Scored) float64 {
	sum := 0.0
	for _, s := range bin {
		sum += s.Score
		if s.Relevant {
			sum--
		}
	}
	return math.Abs(sum)
}
