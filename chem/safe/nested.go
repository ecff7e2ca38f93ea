package safe

import (
	"fmt"
	"slices"
	"strings"

	"retort/chem/smiles"
)

// Nested writes a molecule in nested order, beginning at one of the ends that [Ends] lists: the fragment on that end,
// and depth first all that hangs on its other ends. "*" is an open end; the fragment of the next dot bonds to it by its
// first atom. If the first end is a cut, the fragments on its other side come last and bond to the first atom of all,
// as if the string began with an open end. scripts/train/masked/safe.py writes the same.
func Nested(ends []End, first int) string {
	text := nested(ends, first)
	if across := ends[first].Across; across >= 0 {
		text += nested(ends, across)
	}
	return text
}

// nested writes the fragment on an end, and all that hangs on its other ends.
func nested(ends []End, root int) string {
	var text string
	for _, s := range segments(ends, root, nil) {
		text += s.Text
	}
	return text
}

// FromNested gives the bracket form of a string in nested order. A fragment bonds by its first atom to the open end "*"
// that was written last and is still free; the first fragment has a free end before its first atom. So
//
//	.c1ccc*cc1.C*=O.N(C)C.Cl
//
// is a benzene ring, the carbonyl on its open end, the amine on the carbonyl's, and the chlorine on the ring's first
// atom. An open end that no fragment takes, and a fragment that finds no open end, keep a number that occurs once.
func FromNested(text string) string {
	var n nesting
	for i, fragment := range strings.Split(text, ".") {
		switch {
		case i > 0:
			n.bonded(fragment)
		case fragment != "": // a text that begins without a dot begins without an open end
			n.add(tokensOf(fragment))
		}
	}
	return strings.Join(n.fragments, ".")
}

// nesting is a string in nested order, read so far.
type nesting struct {
	fragments []string // in the bracket form
	free      []string // the attachments of the open ends that no fragment has taken, the next one last
	count     int      // attachments given out
}

// bonded adds a fragment that follows a dot.
func (n *nesting) bonded(fragment string) {
	var attachment string
	switch last := len(n.free) - 1; {
	case last >= 0:
		attachment = n.free[last]
		n.free = n.free[:last]
	case len(n.fragments) == 0: // the last fragment bonds to the first one here
		attachment = n.next()
		n.free = append(n.free, attachment)
	default:
		attachment = n.next()
	}
	n.add(attached(tokensOf(fragment), attachment))
}

// add appends a fragment and gives its open ends attachments: the first of them is taken first.
func (n *nesting) add(tokens []string) {
	var open []string
	for i, token := range tokens {
		if token == "*" {
			tokens[i] = n.next()
			open = append(open, tokens[i])
		}
	}
	slices.Reverse(open)
	n.free = append(n.free, open...)
	n.fragments = append(n.fragments, strings.Join(tokens, ""))
}

func (n *nesting) next() string {
	n.count++
	return fmt.Sprintf("<%d>", n.count)
}

func tokensOf(text string) []string {
	var tokens []string
	for t := range smiles.Tokens(text) {
		tokens = append(tokens, t.In(text))
	}
	return tokens
}

// Seen from the other end of a bond, its direction is the opposite one.
var turnedBond = strings.NewReplacer("/", `\`, `\`, "/")

// attached puts an attachment on the first atom of a fragment. The bond of the attachment may stand before that atom.
func attached(tokens []string, attachment string) []string {
	if len(tokens) > 0 && smiles.Next(tokens[0], 0).Kind == smiles.Bond {
		attachment = turnedBond.Replace(tokens[0]) + attachment
		tokens = tokens[1:]
	}
	if len(tokens) == 0 {
		return []string{attachment}
	}
	tokens[0] = turnedAtom(tokens[0])
	return slices.Insert(tokens, 1, attachment)
}

// turnedAtom is the first atom of a fragment once its bond to what came before is written as a number. SMILES counts
// the neighbours of a stereo centre in the order written. In nested order that bond is the first, before the atom's
// hydrogen; as a number it comes after the hydrogen. The two have changed places, so the mark must change between @ and
// @@.
func turnedAtom(atom string) string {
	b, ok := smiles.ParseBracket(atom)
	if !ok || b.Hydrogens == "" {
		return atom
	}
	switch b.Chirality {
	case "@":
		b.Chirality = "@@"
	case "@@":
		b.Chirality = "@"
	}
	return b.String()
}
