package safe

import (
	"errors"
	"strings"

	"retort/chem/smiles"
)

// Cut cuts a molecule at all the bonds that the slicer finds and returns the pieces: the fragments of its SAFE string
// with brackets, the same number on both sides of a cut.
func Cut(molecule string, slicer Slicer) ([]string, error) {
	text, err := Encode(molecule, EncodeOptions{Slicer: slicer, Brackets: true})
	if err != nil {
		return nil, err
	}
	return strings.Split(text, "."), nil
}

// Join joins pieces of a molecule that [Cut] has made and returns canonical SMILES. Where the other side of a cut is
// missing there is an open position, [n*].
func Join(pieces []string) (string, error) {
	return Decode(strings.Join(pieces, "."), DecodeOptions{KeepOpen: true})
}

// ErrNotBonded says that two fragments do not have one open position each.
var ErrNotBonded = errors.New("each of two fragments needs exactly one open position")

// Bond makes one molecule of two fragments with one open position each and returns canonical SMILES.
func Bond(one, other string) (string, error) {
	text, err := Encode(one+"."+other, EncodeOptions{Slicer: Whole, Brackets: true})
	if err != nil {
		return "", err
	}
	// The same number in both makes the two open positions one bond.
	text, count := renumbered(text, "<1>")
	if count != 2 {
		return "", ErrNotBonded
	}
	return Decode(text, DecodeOptions{Strict: true})
}

// renumbered gives all attachments of a text the same number, and counts them.
func renumbered(text, attachment string) (written string, count int) {
	var out strings.Builder
	for t := range smiles.Tokens(text) {
		if t.Kind == smiles.Attachment {
			out.WriteString(attachment)
			count++
		} else {
			out.WriteString(t.In(text))
		}
	}
	return out.String(), count
}
