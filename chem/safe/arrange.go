package safe

import (
	"errors"
	"math/rand/v2"
)

// Segment is a part of a string in nested order: given fragments, or a gap to fill.
type Segment struct {
	Text      string // the given fragments with their stereo; "" for a gap
	Positions int    // number of open positions that a gap must fill, at least 1; 0 for fragments
}

// Arrange writes given fragments in nested order, with gaps for new fragments at their open positions. Each component
// must have an open position and is written from it. A gap for the first component's position follows that component;
// the other components come after this gap. An open position within a component needs a gap of its own, so a component
// is written from the open position that leaves the fewest gaps.
//
// The components are in random order. The same random numbers give the same order.
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

// segments appends the fragment of an end, then depth first the fragments across its other ends, with a gap for each
// open position.
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

// appendSegment appends a segment. It merges the segment with the last one if both are text or both are gaps.
func appendSegment(out []Segment, s Segment) []Segment {
	if n := len(out); n > 0 && (out[n-1].Text == "") == (s.Text == "") {
		out[n-1].Text += s.Text
		out[n-1].Positions += s.Positions
		return out
	}
	return append(out, s)
}
