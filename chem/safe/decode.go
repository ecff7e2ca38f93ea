package safe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/rdkit"
	"retort/chem/smiles"
)

// DecodeOptions tell how SAFE is read. The zero value reads as the reference does: an open attachment number is closed
// by hydrogen.
type DecodeOptions struct {
	Strict   bool        // an open attachment number is an error
	Repair   bool        // fragments that do not decode alone are dropped first
	KeepOpen bool        // an open attachment number n stays, as [n*]
	Limits   chem.Limits // of the SAFE string
}

// Decode reads a SAFE string, plain or with brackets, joins its fragments where a number occurs in two of them, and
// returns canonical SMILES. RDKit makes the bonds, for which plain SAFE is SMILES; here the brackets become ring
// numbers, and open numbers, which no SMILES has, are closed by dummy atoms. The errors are those of [chem.Parse].
func Decode(safe string, o DecodeOptions) (string, error) {
	if o.Repair {
		safe = o.repaired(safe)
	}
	checked, err := o.Limits.Check(safe)
	if err != nil {
		return "", err
	}
	start := strings.Index(safe, checked)
	text, err := plain(safe[:start+len(checked)]) // with leading white space, for the positions in errors
	if err != nil {
		return "", err
	}
	if open := openNumbers(text); o.Strict && len(open) > 0 {
		reason := fmt.Sprintf("attachment number %d is open", open[0].Number)
		return "", &chem.SyntaxError{Text: text, Position: open[0].Start, Reason: reason}
	}
	whole := closed(text)
	if err := o.fits(whole); err != nil {
		return "", err
	}
	canonical, _, err := rdkit.Join(whole[start:], !o.KeepOpen)
	if err != nil {
		return "", chem.Explain(whole, err)
	}
	return canonical, nil
}

// fits checks a text to which dummies have been added; the bytes they need are not the caller's.
func (o DecodeOptions) fits(text string) error {
	l := o.Limits.WithDefaults()
	if atoms, _ := smiles.Count(text); atoms > l.Atoms {
		return &chem.LimitError{Got: atoms, Limit: l.Atoms, Cause: chem.ErrTooManyAtoms}
	}
	return nil
}

// repaired drops the fragments that do not decode alone.
func (o DecodeOptions) repaired(safe string) string {
	if len(safe) > o.Limits.WithDefaults().Bytes {
		return safe // refused by the caller
	}
	o.Repair, o.Strict = false, false
	var kept []string
	for piece := range strings.SplitSeq(safe, ".") {
		if _, err := Decode(piece, o); err == nil {
			kept = append(kept, piece)
		}
	}
	return strings.Join(kept, ".")
}

// openNumbers lists the ring numbers that occur an odd number of times, each where it is open, in the order of their
// last occurrence.
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
	list := make([]smiles.Token, 0, len(open))
	for _, t := range open {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b smiles.Token) int { return cmp.Compare(a.Start, b.Start) })
	return list
}

// closed adds a dummy atom for each open number: "C7" becomes "C7.[*:7]7".
func closed(text string) string {
	var out strings.Builder
	out.WriteString(text)
	for _, t := range openNumbers(text) {
		fmt.Fprintf(&out, ".[*:%d]%s", t.Number, smiles.RingNumber(t.Number))
	}
	return out.String()
}
