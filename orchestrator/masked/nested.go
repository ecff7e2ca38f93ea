package masked

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"retort/chem"
)

// A model reads and writes SAFE in nested order (scripts/train/masked/safe.py):
// fragments depth first, "*" for an open end, and no attachment numbers, since a
// fragment bonds by its first atom to the open end that has waited the shortest.
// The first fragment is bonded too: to the last, as if the string began with an
// open end.

// strand is a part of a row: given fragments, or a gap that masks fill.
type strand struct {
	given string // in nested order, stereo kept; "" for a gap
	least int    // of a gap: open positions that must be filled there
}

// nest writes the given fragments. The gap for what the model adds follows the
// first component; the others end what is added. An open position in the middle
// of a component is a gap of its own, so components are written from where they
// have the fewest of these.
func nest(ends []chem.End, random *rand.Rand) []strand {
	var out []strand
	groups := components(ends)
	random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	for i, open := range groups {
		random.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		best := written(ends, open[0], nil)
		for _, root := range open[1:] {
			if other := written(ends, root, nil); len(other) < len(best) {
				best = other
			}
		}
		if i == 0 {
			best = gap(best)
		}
		for _, s := range best {
			out = joined(out, s)
		}
	}
	return out
}

// components are the open positions of each component.
func components(ends []chem.End) (groups [][]int) {
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
			groups = append(groups, visit(e.Fragment))
		}
	}
	return groups
}

// written appends a fragment from one of its ends on, and all that hangs on it.
func written(ends []chem.End, root int, out []strand) []strand {
	out = joined(out, strand{given: "." + ends[root].Text})
	for _, other := range ends[root].Others {
		if across := ends[other].Across; across >= 0 {
			out = written(ends, across, out)
		} else {
			out = gap(out)
		}
	}
	return out
}

// gap appends an open position to be filled.
func gap(out []strand) []strand { return joined(out, strand{least: 1}) }

// joined appends a strand to the last one where both are of one kind.
func joined(out []strand, s strand) []strand {
	if n := len(out); n > 0 && (out[n-1].given == "") == (s.given == "") {
		out[n-1].given += s.given
		out[n-1].least += s.least
		return out
	}
	return append(out, s)
}

var (
	lexemes = regexp.MustCompile(`\[[^\]]*\]|Br|Cl|%\d\d|%\(\d+\)|.`)
	turned  = strings.NewReplacer("@@", "@", "@", "@@")
	across  = strings.NewReplacer("/", `\`, `\`, "/")
)

// numbered writes nested order as SAFE with attachment numbers in angle
// brackets. An open end that no fragment takes, and a fragment that finds no
// open end, keep a number that occurs once.
func numbered(nested string) string {
	var out []string
	var waiting []int
	count := 0
	fresh := func() string { count++; return fmt.Sprintf("<%d>", count) }
	for i, text := range strings.Split(nested, ".") {
		if i == 0 && text == "" {
			continue
		}
		tokens := lexemes.FindAllString(text, -1)
		if i > 0 {
			number := ""
			switch n := len(waiting); {
			case len(out) == 0: // the first: the last bonds to it
				number = fresh()
				waiting = append(waiting, count)
			case n > 0:
				number, waiting = fmt.Sprintf("<%d>", waiting[n-1]), waiting[:n-1]
			default:
				number = fresh()
			}
			tokens = bonded(tokens, number)
		}
		var own []int
		for at, token := range tokens {
			if token == "*" {
				tokens[at] = fresh()
				own = append(own, count)
			}
		}
		slices.Reverse(own)
		waiting = append(waiting, own...)
		out = append(out, strings.Join(tokens, ""))
	}
	return strings.Join(out, ".")
}

// bonded puts a number on the first atom of a fragment, whose bond may stand
// before it. The bond comes first among those of the atom in nested order, and
// after its hydrogen once it is written as a number, which turns a configuration
// round.
func bonded(tokens []string, number string) []string {
	if len(tokens) > 0 && strings.Contains(`=#-/\`, tokens[0]) {
		number, tokens = across.Replace(tokens[0])+number, tokens[1:]
	}
	if len(tokens) == 0 {
		return []string{number}
	}
	if first := tokens[0]; strings.Contains(first, "@H") {
		tokens[0] = turned.Replace(first)
	}
	return slices.Insert(tokens, 1, number)
}
