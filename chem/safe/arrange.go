package safe

import (
	"errors"
	"math/rand/v2"
)

// Segment is a stretch of a string in nested order that is to be completed: given fragments, or a gap.
type Segment struct {
	Text      string // the given fragments, stereo kept; "" for a gap
	Positions int    // of a gap: how many open positions of the given fragments must be filled there, at least 1
}

// Arrange writes given fragments in nested order with gaps for what is to be bonded to their open positions. Each
// component of ends, which must have an open position, is written from that position on, in random order. What is added
// follows the first component, in a gap that begins at its position; the other components follow that gap and end what
// is added. An open position in the middle of a component needs a gap at its place, so each component is written from
// the open position that leaves the fewest gaps.
//
// The order is random: the same random numbers give the same order.
func Arrange(ends []End, random *rand.Rand) ([]Segment, error) {
	all := openPositions(ends)
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var out []Segment
	for i, open := range all {
		if len(open) == 0 {
			return nil, errors.New("a component without an open position cannot be bonded to anything")
		}
		random.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		best := segments(ends, open[0], nil)
		for _, root := range open[1:] {
			if other := segments(ends, root, nil); len(other) < len(best) {
				best = other
			}
		}
		if i == 0 {
			best = appendSegment(best, Segment{Positions: 1})
		}
		for _, s := range best {
			out = appendSegment(out, s)
		}
	}
	return out, nil
}

// openPositions lists, for each component, the ends that are open positions.
func openPositions(ends []End) (components [][]int) {
	seen := map[int]bool{} // by fragment
	var visit func(fragment int) []int
	visit = func(fragment int) (open []int) {
		seen[fragment] = true
		for i, e := range ends {
			switch {
			case e.Fragment != fragment:
			case e.Across < 0:
				open = append(open, i)
			case !seen[ends[e.Across].Fragment]:
				open = append(open, visit(ends[e.Across].Fragment)...)
			}
		}
		return open
	}
	for _, e := range ends {
		if !seen[e.Fragment] {
			components = append(components, visit(e.Fragment))
		}
	}
	return components
}

// segments appends the fragment on an end, and all that hangs on its other ends, with a gap at each open position.
func segments(ends []End, root int, out []Segment) []Segment {
	out = appendSegment(out, Segment{Text: "." + ends[root].Text})
	for _, other := range ends[root].Others {
		if across := ends[other].Across; across >= 0 {
			out = segments(ends, across, out)
		} else {
			out = appendSegment(out, Segment{Positions: 1})
		}
	}
	return out
}

// appendSegment appends a segment, to the last one where both are text or both are gaps.
func appendSegment(out []Segment, s Segment) []Segment {
	if n := len(out); n > 0 && (out[n-1].Text == "") == (s.Text == "") {
		out[n-1].Text += s.Text
		out[n-1].Positions += s.Positions
		return out
	}
	return append(out, s)
}
