package safe

import (
	"strings"

	"retort/chem"
	"retort/chem/rdkit"
)

// Fragment is one fragment of a SAFE string.
type Fragment struct {
	SAFE    string // as written, in plain SAFE
	SMILES  string // canonical, attachment number n as [n*]
	Unnamed string // canonical, every attachment as *
}

// Fragments reads the fragments of a SAFE string, plain or with brackets, one by one. The error is that of the first
// fragment that is not a molecule.
func Fragments(safe string) ([]Fragment, error) {
	text, err := chem.Limits{}.Check(safe)
	if err != nil {
		return nil, err
	}
	if text, err = plain(text); err != nil {
		return nil, err
	}
	var all []Fragment
	for piece := range strings.SplitSeq(text, ".") {
		if piece == "" {
			return nil, &chem.SyntaxError{Text: text, Position: 0, Reason: "an empty fragment"}
		}
		molecule, unnamed, err := rdkit.Join(closed(piece), false)
		if err != nil {
			return nil, chem.Explain(closed(piece), err)
		}
		all = append(all, Fragment{SAFE: piece, SMILES: molecule, Unnamed: unnamed})
	}
	return all, nil
}
