package safe

import (
	"fmt"
	"slices"
	"strings"

	"retort/chem/smiles"
)

// FromNested converts a string in nested order to the bracket form. Nested order lists the fragments depth first. The
// first atom of a fragment bonds to the last free open end "*" before it; the first fragment also has a free end before
// its first atom. So
//
//	.c1ccc*cc1.C*=O.N(C)C.Cl
//
// is a benzene ring, the carbonyl on its open end, the amine on the carbonyl's open end, and the chlorine on the first
// atom of the ring. An open end without a fragment, and a fragment without an open end, get a number that occurs once.
// scripts/train/masked/safe.py writes this order.
func FromNested(text string) string {
	var n nesting
	for i, fragment := range strings.Split(text, ".") {
		switch {
		case i > 0:
			n.bond(fragment)
		case fragment != "": // without a leading dot there is no end before the first atom
			n.add(tokensOf(fragment))
		}
	}
	return strings.Join(n.fragments, ".")
}

// nesting is the state of reading a string in nested order.
type nesting struct {
	fragments []string // in the bracket form
	free      []string // stack of the attachments of free open ends
	count     int      // attachments assigned
}

// bond adds a fragment that follows a dot.
func (n *nesting) bond(fragment string) {
	var attachment string
	switch last := len(n.free) - 1; {
	case last >= 0:
		attachment = n.free[last]
		n.free = n.free[:last]
	case len(n.fragments) == 0: // a later fragment bonds to the first atom
		attachment = n.next()
		n.free = append(n.free, attachment)
	default:
		attachment = n.next()
	}
	n.add(attach(tokensOf(fragment), attachment))
}

// add appends a fragment and assigns attachments to its open ends. The next fragment bonds to the first of them.
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

// reversedBond reverses the direction marks of a bond that is written from its other atom.
var reversedBond = strings.NewReplacer("/", `\`, `\`, "/")

// attach adds an attachment to the first atom of a fragment. The bond of the attachment may precede that atom.
func attach(tokens []string, attachment string) []string {
	if len(tokens) > 0 && smiles.Next(tokens[0], 0).Kind == smiles.Bond {
		attachment = reversedBond.Replace(tokens[0]) + attachment
		tokens = tokens[1:]
	}
	if len(tokens) == 0 {
		return []string{attachment}
	}
	tokens[0] = invertAtom(tokens[0])
	return slices.Insert(tokens, 1, attachment)
}

// invertAtom returns the first atom of a fragment after its bond to the previous fragment became a number. SMILES
// orders the neighbours of a stereocentre as written. In nested order that bond comes before the atom's hydrogen, as a
// number it comes after it. This swaps two neighbours, so @ and @@ are exchanged.
func invertAtom(atom string) string {
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
