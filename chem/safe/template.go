package safe

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"retort/chem/smiles"
)

// Placeholder returns the atom that stands for the n-th masked part of a template, from 1. It is a uranium isotope,
// because RDKit allows uranium any number of bonds and no drug contains it.
func Placeholder(n int) string { return "[" + strconv.Itoa(n+1) + "U]" }

// openPosition replaces open positions while placeholders are removed.
var openPosition = Placeholder(0)

// ErrPlaceholder says that a placeholder has a bond that cannot be cut: a multiple bond or a bond in a ring.
var ErrPlaceholder = errors.New("a placeholder must be joined by single bonds outside of rings")

// RemovePlaceholders replaces all placeholders of a molecule with open positions and returns the rest, or "" if nothing
// remains. Open positions of the molecule stay.
func RemovePlaceholders(molecule string) (string, error) {
	marked := smiles.ReplaceAtoms(molecule, func(atom string) string {
		if _, dummy := smiles.Dummy(atom); dummy {
			return openPosition
		}
		return atom
	})
	pieces, err := Cut(marked, SingleBonds)
	if err != nil {
		return "", err
	}
	pieces = slices.DeleteFunc(pieces, isPlaceholder)
	if len(pieces) == 0 {
		return "", nil
	}
	if strings.Contains(strings.Join(pieces, "."), "U]") {
		return "", ErrPlaceholder
	}
	return Join(pieces)
}

// isPlaceholder reports whether a piece in the bracket form is one placeholder with its attachments.
func isPlaceholder(piece string) bool {
	for t := range smiles.Tokens(piece) {
		switch b, _ := smiles.ParseBracket(t.In(piece)); {
		case t.Kind == smiles.Atom && t.Start == 0 && b.Element == "U" && b.Isotope != "":
		case t.Kind != smiles.Attachment:
			return false
		}
	}
	return true
}

// OpenRadicals adds an open position to each carbon, nitrogen and oxygen with an unpaired electron, such as [CH]. It is
// the dangling bond of a SMILES that was cut by hand. RDKit writes such an atom in brackets although it has no isotope,
// charge or stereo.
func OpenRadicals(molecule string) string {
	var out strings.Builder
	radical := false // the last atom is a radical; its ring numbers precede the open position
	for t := range smiles.Tokens(molecule) {
		if radical && t.Kind != smiles.Ring {
			out.WriteString("(*)")
			radical = false
		}
		text := t.In(molecule)
		if b, ok := smiles.ParseBracket(text); ok && b.Radical() {
			text = b.Element
			radical = true
		}
		out.WriteString(text)
	}
	if radical {
		out.WriteString("(*)")
	}
	return out.String()
}
