package safe

import (
	"fmt"
	"strings"

	"retort/chem"
	"retort/chem/smiles"
)

// maxAttachment is the upper bound of attachment numbers.
const maxAttachment = 999

// toPlain converts the bracket form to plain SAFE: <n> becomes the n-th number above the ring numbers of the text. A
// text without angle brackets does not change.
func toPlain(text string) (string, error) {
	if !strings.Contains(text, "<") {
		return text, nil
	}
	highest := smiles.HighestRing(text)
	var out strings.Builder
	for t := range smiles.Tokens(text) {
		written := t.In(text)
		switch {
		case t.Kind == smiles.Attachment && t.Number >= 1 && t.Number <= maxAttachment:
			out.WriteString(smiles.RingNumber(highest + t.Number))
		case t.Kind == smiles.Attachment, t.Kind == smiles.Other && written == "<":
			return "", attachmentError(text, t.Start)
		default:
			out.WriteString(written)
		}
	}
	return out.String(), nil
}

// attachmentError returns the error of an invalid angle bracket at an offset of a text.
func attachmentError(text string, at int) error {
	reason := "< is not closed"
	if size := strings.IndexByte(text[at:], '>') + 1; size > 0 {
		reason = fmt.Sprintf("%s is not an attachment number", text[at:at+size])
	}
	return &chem.SyntaxError{Text: text, Position: at, Reason: reason}
}
