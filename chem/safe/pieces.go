package safe

import (
	"errors"
	"strings"

	"retort/chem/smiles"
)

// Cut cuts a molecule and returns the fragments of its SAFE string with brackets. Both sides of a cut have the same
// number.
func Cut(molecule string, slicer Slicer) ([]string, error) {
	text, err := Encode(molecule, EncodeOptions{Slicer: slicer, Brackets: true})
	if err != nil {
		return nil, err
	}
	return strings.Split(text, "."), nil
}

// Join joins pieces of a molecule from [Cut] and returns canonical SMILES. If the other side of a cut is missing, the
// cut becomes an open position, [n*].
func Join(pieces []string) (string, error) {
	return Decode(strings.Join(pieces, "."), DecodeOptions{KeepOpen: true})
}

// Bond bonds two fragments with one open position each and returns canonical SMILES.
func Bond(one, other string) (string, error) {
	text, err := Encode(one+"."+other, EncodeOptions{Slicer: Whole, Brackets: true})
	if err != nil {
		return "", err
	}
	// The same number in both fragments is a bond.
	text, count := unifyAttachments(text, "<1>")
	if count != 2 {
		return "", errors.New("each of two fragments needs exactly one open position")
	}
	return Decode(text, DecodeOptions{Strict: true})
}

// unifyAttachments replaces all attachments of a text with one attachment, and counts them.
func unifyAttachments(text, attachment string) (written string, count int) {
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
