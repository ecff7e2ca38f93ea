package smiles

import (
	"strconv"
	"strings"
)

// Count returns the number of atoms and of ring closure numbers, attachments included. The numbers are upper bounds of
// what RDKit reads.
func Count(text string) (atoms, closures int) {
	for t := range Tokens(text) {
		switch t.Kind {
		case Atom:
			atoms++
		case Ring, Attachment:
			closures++
		}
	}
	return atoms, closures
}

// AtomAt returns the n-th atom of a text, from 0, or false if there are fewer.
func AtomAt(text string, n int) (Token, bool) {
	for t := range Tokens(text) {
		if t.Kind != Atom {
			continue
		}
		if n == 0 {
			return t, true
		}
		n--
	}
	return Token{}, false
}

// HighestRing returns the highest ring closure number of a text, or 0 if there is none.
func HighestRing(text string) int {
	highest := 0
	for t := range Tokens(text) {
		if t.Kind == Ring {
			highest = max(highest, t.Number)
		}
	}
	return highest
}

// RingNumber writes a ring closure number: 5, %12, %(123).
func RingNumber(n int) string {
	switch {
	case n < 10:
		return strconv.Itoa(n)
	case n < 100:
		return "%" + strconv.Itoa(n)
	}
	return "%(" + strconv.Itoa(n) + ")"
}

// Dummy reports whether an atom is a dummy ("*", "[*]", "[12*]", "[*:3]") and returns its isotope, or 0 if it has none.
func Dummy(atom string) (isotope int, ok bool) {
	if atom == "*" {
		return 0, true
	}
	b, ok := ParseBracket(atom)
	if !ok || b.Element != "*" || b.Chirality+b.Hydrogens+b.Charge != "" {
		return 0, false
	}
	if b.Isotope == "" {
		return 0, true
	}
	isotope, err := strconv.Atoi(b.Isotope)
	return isotope, err == nil
}

// ReplaceAtoms replaces each atom of a text with the result of replace.
func ReplaceAtoms(text string, replace func(atom string) string) string {
	var out strings.Builder
	for t := range Tokens(text) {
		if t.Kind == Atom {
			out.WriteString(replace(t.In(text)))
		} else {
			out.WriteString(t.In(text))
		}
	}
	return out.String()
}

// WithoutStereo removes the stereo marks of a text. An atom that needs brackets only for its mark loses them:
// "N[C@@H](C)/C=C/C" becomes "NC(C)C=CC".
func WithoutStereo(text string) string {
	unmarked := strings.NewReplacer("/", "", `\`, "").Replace(text)
	return ReplaceAtoms(unmarked, func(atom string) string {
		b, ok := ParseBracket(atom)
		if !ok || b.Chirality == "" {
			return atom
		}
		b.Chirality = ""
		if b.Isotope+b.Charge+b.Map == "" && strings.Contains(" C N O S P B ", " "+b.Element+" ") {
			return b.Element
		}
		return b.String()
	})
}
