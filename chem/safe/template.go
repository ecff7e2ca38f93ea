package safe

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"retort/chem/smiles"
)

// Placeholder is the atom that stands for the n-th part of a template, counted from 1, that something is to be put into
// later. It is a uranium isotope: RDKit lets uranium have any bonds, and no drug has it.
func Placeholder(n int) string { return "[" + strconv.Itoa(n+1) + "U]" }

// openPosition takes the place of open positions while placeholders are removed.
var openPosition = Placeholder(0)

// ErrPlaceholder says that a placeholder is not bonded by single bonds outside of rings alone, so that it cannot be cut
// off.
var ErrPlaceholder = errors.New("a placeholder must be joined by single bonds outside of rings")

// RemovePlaceholders cuts all bonds to placeholders and returns what is left, with open positions in their places: ""
// where nothing is. Open positions that the molecule had before stay.
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

// isPlaceholder tells whether a piece in the bracket form is one placeholder with its attachments.
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

// OpenRadicals puts an open position on each carbon, nitrogen and oxygen with an unpaired electron: a bond that is left
// dangling where a SMILES was cut by hand, [CH] in the place of CH2. RDKit writes such an atom in brackets though it
// has no isotope, charge or stereo.
func OpenRadicals(molecule string) string {
	var out strings.Builder
	radical := false // the last atom is one; its ring numbers come before the open position
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
