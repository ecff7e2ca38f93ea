package cmaes

import (
	"fmt"
	"math"
)

// box keeps points within bounds by a smooth, periodic change of variable, so that the search itself runs unbounded on
// an inner coordinate: away from a bound the two are the same; over a margin of 1/20 (of 1 + |bound|, at most half the
// box) around it a parabola turns the way back inside. This is the boundary transformation of N. Hansen's C and Python
// implementations (boundary_transformation.c of https://github.com/CMA-ES/c-cmaes).
type box struct{ sides []side }

type side struct{ low, high, lowMargin, highMargin float64 }

// newBox is nil, a box without bounds, where no side is closed.
func newBox(n int, lower, upper []float64) (*box, error) {
	if lower == nil && upper == nil {
		return nil, nil
	}
	b := &box{sides: make([]side, n)}
	for i := range b.sides {
		s := side{low: math.Inf(-1), high: math.Inf(1)}
		if lower != nil {
			s.low = lower[i]
		}
		if upper != nil {
			s.high = upper[i]
		}
		if !(s.low < s.high) {
			return nil, fmt.Errorf("cmaes: bounds %v to %v of coordinate %d enclose nothing", s.low, s.high, i)
		}
		half := (s.high - s.low) / 2
		s.lowMargin = math.Min(half, (1+math.Abs(s.low))/20)
		s.highMargin = math.Min(half, (1+math.Abs(s.high))/20)
		b.sides[i] = s
	}
	return b, nil
}

// toOuter maps inner coordinates to a point within the bounds.
func (b *box) toOuter(x []float64) {
	if b == nil {
		return
	}
	for i, s := range b.sides {
		x[i] = s.outer(x[i])
	}
}

// toInner is the inverse of toOuter. A coordinate out of bounds is taken as on the bound.
func (b *box) toInner(x []float64) {
	if b == nil {
		return
	}
	for i, s := range b.sides {
		x[i] = s.inner(x[i])
	}
}

func (s side) outer(x float64) float64 {
	x = s.fold(x)
	switch {
	case x < s.low+s.lowMargin:
		d := x - (s.low - s.lowMargin)
		x = s.low + d*d/(4*s.lowMargin)
	case x > s.high-s.highMargin:
		d := x - (s.high + s.highMargin)
		x = s.high - d*d/(4*s.highMargin)
	}
	return math.Max(s.low, math.Min(s.high, x))
}

// fold brings x into [low-lowMargin, high+highMargin] by reflection at its ends.
func (s side) fold(x float64) float64 {
	from, to := s.low-s.lowMargin, s.high+s.highMargin
	if math.IsInf(from, 0) || math.IsInf(to, 0) {
		if x < from {
			x = 2*from - x
		} else if x > to {
			x = 2*to - x
		}
		return x
	}
	period := 2 * (to - from)
	x = math.Mod(x-from, period)
	if x < 0 {
		x += period
	}
	return from + math.Min(x, period-x)
}

func (s side) inner(x float64) float64 {
	x = math.Max(s.low, math.Min(s.high, x))
	switch {
	case x < s.low+s.lowMargin:
		return s.low - s.lowMargin + 2*math.Sqrt(s.lowMargin*(x-s.low))
	case x > s.high-s.highMargin:
		return s.high + s.highMargin - 2*math.Sqrt(s.highMargin*(s.high-x))
	}
	return x
}
