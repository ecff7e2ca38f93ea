package safe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/rdkit"
	"retort/chem/smiles"
)

// DecodeOptions select how SAFE is read. With the zero value hydrogen closes open numbers, as in the reference.
type DecodeOptions struct {
	Strict   bool // an open number is an error
	Repair   bool // drop fragments that do not decode on their own
	KeepOpen bool // an open number n becomes [n*]
}

// Decode reads a SAFE string, plain or with brackets, bonds its fragments where a number occurs in two of them, and
// returns canonical SMILES. The errors are those of [chem.Parse].
//
// Plain SAFE is SMILES once its open numbers are closed, so brackets are converted to ring numbers, dummy atoms close
// open numbers, and RDKit parses the result.
func Decode(safe string, o DecodeOptions) (string, error) {
	if o.Repair {
		safe = o.dropInvalid(safe)
	}
	checked, err := chem.Check(safe)
	if err != nil {
		return "", err
	}
	start := strings.Index(safe, checked)
	text, err := toPlain(safe[:start+len(checked)]) // with leading white space, for the positions in errors
	if err != nil {
		return "", err
	}
	if open := openNumbers(text); o.Strict && len(open) > 0 {
		reason := fmt.Sprintf("attachment number %d is open", open[0].Number)
		return "", &chem.SyntaxError{Text: text, Position: open[0].Start, Reason: reason}
	}
	text = closeNumbers(text)
	if atoms, _ := smiles.Count(text); atoms > chem.MaxAtoms { // with the dummies
		return "", &chem.LimitError{Got: atoms, Limit: chem.MaxAtoms, Cause: chem.ErrTooManyAtoms}
	}
	canonical, _, err := rdkit.Join(text[start:], !o.KeepOpen)
	if err != nil {
		return "", chem.Explain(text, err)
	}
	return canonical, nil
}

// dropInvalid drops the fragments that do not decode on their own.
func (o DecodeOptions) dropInvalid(safe string) string {
	if len(safe) > chem.MaxBytes {
		return safe // too long: Decode refuses it
	}
	o.Repair = false
	o.Strict = false
	var kept []string
	for piece := range strings.SplitSeq(safe, ".") {
		if _, err := Decode(piece, o); err == nil {
			kept = append(kept, piece)
		}
	}
	return strings.Join(kept, ".")
}

// openNumbers returns the last occurrence of each ring number that occurs an odd number of times, in the order of the
// text.
func openNumbers(text string) []smiles.Token {
	open := map[int]smiles.Token{}
	for t := range smiles.Tokens(text) {
		if t.Kind != smiles.Ring {
			continue
		}
		if _, ok := open[t.Number]; ok {
			delete(open, t.Number)
		} else {
			open[t.Number] = t
		}
	}
	return slices.SortedFunc(maps.Values(open), func(a, b smiles.Token) int { return cmp.Compare(a.Start, b.Start) })
}

// closeNumbers adds a dummy atom for each open number: "C7" becomes "C7.[*:7]7".
func closeNumbers(text string) string {
	var out strings.Builder
	out.WriteString(text)
	for _, t := range openNumbers(text) {
		fmt.Fprintf(&out, ".[*:%d]%s", t.Number, smiles.RingNumber(t.Number))
	}
	return out.String()
}
