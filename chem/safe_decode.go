package chem

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retort/chem/rdkit"
)

// DecodeOptions tell how SAFE is read. The zero value reads as the reference does: an open
// attachment number is closed by hydrogen.
type DecodeOptions struct {
	Strict   bool   // an open attachment number is an error
	Repair   bool   // fragments that do not decode alone are dropped first
	KeepOpen bool   // an open attachment number n stays, as [n*]
	Limits   Limits // of the SAFE string
}

// DecodeSAFE reads a SAFE string, of either form, and returns canonical SMILES.
func DecodeSAFE(safe string, o DecodeOptions) (string, error) {
	if o.Repair {
		safe = o.repaired(safe)
	}
	text, err := o.Limits.check(safe)
	if err != nil {
		return "", err
	}
	if text, err = plain(text); err != nil {
		return "", err
	}
	if open := openNumbers(text); o.Strict && len(open) > 0 {
		reason := fmt.Sprintf("attachment number %d is open", open[0].ring)
		return "", &SyntaxError{Text: text, Position: open[0].at, Reason: reason}
	}
	whole := closed(text)
	if err := o.fits(whole); err != nil {
		return "", err
	}
	canonical, _, err := rdkit.Join(whole, !o.KeepOpen)
	if err != nil {
		return "", explain(whole, err)
	}
	return canonical, nil
}

// fits checks a text to which dummies have been added; the bytes they need are not the caller's.
func (o DecodeOptions) fits(text string) error {
	l := o.Limits.filled()
	if atoms, _ := count(text); atoms > l.Atoms {
		return &LimitError{Got: atoms, Limit: l.Atoms, Cause: ErrTooManyAtoms}
	}
	return nil
}

// repaired drops the fragments that do not decode alone.
func (o DecodeOptions) repaired(safe string) string {
	if len(safe) > o.Limits.filled().Bytes {
		return safe // refused by the caller
	}
	o.Repair, o.Strict = false, false
	var kept []string
	for piece := range strings.SplitSeq(safe, ".") {
		if _, err := DecodeSAFE(piece, o); err == nil {
			kept = append(kept, piece)
		}
	}
	return strings.Join(kept, ".")
}

// openNumbers lists the ring numbers that occur an odd number of times, each where it is open, in
// the order of their last occurrence.
func openNumbers(text string) []token {
	open := map[int]token{}
	for t := range tokens(text) {
		if t.kind != ringToken {
			continue
		}
		if _, ok := open[t.ring]; ok {
			delete(open, t.ring)
		} else {
			open[t.ring] = t
		}
	}
	list := make([]token, 0, len(open))
	for _, t := range open {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b token) int { return cmp.Compare(a.at, b.at) })
	return list
}

// closed adds a dummy atom for each open number: "C7" becomes "C7.[*:7]7".
func closed(text string) string {
	var out strings.Builder
	out.WriteString(text)
	for _, t := range openNumbers(text) {
		fmt.Fprintf(&out, ".[*:%d]%s", t.ring, ringNumber(t.ring))
	}
	return out.String()
}

// attachment is a <n> of the bracket form: text[at:end].
type attachment struct{ at, end, n int }

// attachments finds every <n>. The arrows of dative bonds, -> and <-, are not among them.
func attachments(text string) ([]attachment, error) {
	var all []attachment
	for at := 0; at < len(text); at++ {
		if text[at] != '<' || strings.HasPrefix(text[at:], "<-") {
			continue
		}
		size := strings.IndexByte(text[at:], '>') + 1
		if size == 0 {
			return nil, &SyntaxError{Text: text, Position: at, Reason: "< is not closed"}
		}
		n, err := strconv.Atoi(strings.Trim(text[at+1:at+size-1], "%()"))
		if err != nil || n < 1 || n > 999 {
			reason := fmt.Sprintf("%s is not an attachment number", text[at:at+size])
			return nil, &SyntaxError{Text: text, Position: at, Reason: reason}
		}
		all = append(all, attachment{at, at + size, n})
		at += size - 1
	}
	return all, nil
}

// plain turns the bracket form into plain SAFE: <n> becomes the n-th number above the ring numbers
// of the text. A text without angle brackets is returned as it is.
func plain(text string) (string, error) {
	all, err := attachments(text)
	if err != nil || len(all) == 0 {
		return text, err
	}
	write := func(number func(n int) string) string {
		var out strings.Builder
		at := 0
		for _, a := range all {
			out.WriteString(text[at:a.at])
			out.WriteString(number(a.n))
			at = a.end
		}
		out.WriteString(text[at:])
		return out.String()
	}
	highest := highestRing(write(func(int) string { return " " }))
	return write(func(n int) string { return ringNumber(highest + n) }), nil
}

// Fragment is one fragment of a SAFE string.
type Fragment struct {
	SAFE    string // as written, in plain SAFE
	SMILES  string // canonical, attachment number n as [n*]
	Unnamed string // canonical, every attachment as *
}

// SAFEFragments reads the fragments of a SAFE string of either form, one by one. The error is that
// of the first fragment that is not a molecule.
func SAFEFragments(safe string) ([]Fragment, error) {
	text, err := Limits{}.check(safe)
	if err != nil {
		return nil, err
	}
	if text, err = plain(text); err != nil {
		return nil, err
	}
	var all []Fragment
	for piece := range strings.SplitSeq(text, ".") {
		if piece == "" {
			return nil, &SyntaxError{Text: text, Position: 0, Reason: "an empty fragment"}
		}
		smiles, unnamed, err := rdkit.Join(closed(piece), false)
		if err != nil {
			return nil, explain(closed(piece), err)
		}
		all = append(all, Fragment{SAFE: piece, SMILES: smiles, Unnamed: unnamed})
	}
	return all, nil
}
