package chem

import (
	"context"
	"fmt"

	"retort/chem/cores"
	"retort/chem/rdkit"
)

// Query is a substructure to look for. Any number of goroutines may use it.
type Query struct{ native *rdkit.Query }

// NewQuery compiles a SMARTS pattern of atoms and bonds with their elements, charges, isotopes, hydrogens, degrees,
// valences, rings and recursive parts. Rarer features (ring sizes, hybridisation, ranges, stereo bonds) are refused.
func NewQuery(smarts string) (*Query, error) { return newQuery(smarts, true) }

// FragmentQuery makes a pattern of a SMILES fragment: a molecule contains it if it has these atoms with these bonds.
// Open positions ("*", "[3*]") are left out; hydrogens and stereo do not matter.
func FragmentQuery(smiles string) (*Query, error) { return newQuery(smiles, false) }

func newQuery(text string, smarts bool) (*Query, error) {
	// The length of SMARTS bounds its atoms; a SMILES fragment is bounded as molecules are.
	checked, err := Limits{}.Check(text)
	if err != nil {
		return nil, err
	}
	native, err := rdkit.NewQuery(checked, smarts)
	if f, ok := err.(*rdkit.Failure); ok && smarts && f.Status == rdkit.Syntax {
		return nil, &SyntaxError{Text: text, Position: -1, Reason: "not a SMARTS pattern"}
	}
	if err != nil {
		return nil, Explain(text, err)
	}
	return &Query{native}, nil
}

// In reports whether the molecule contains the pattern. ErrTooComplex: the search was given up.
func (q *Query) In(m *Molecule) (bool, error) {
	found := q.native.Contains([]string{m.text})[0]
	return found == rdkit.Present, matchError(found)
}

func matchError(found rdkit.Match) error {
	switch found {
	case rdkit.Unreadable:
		return fmt.Errorf("the molecule cannot be read")
	case rdkit.OverBudget:
		return ErrTooComplex
	}
	return nil
}

// Filter tells for each molecule whether it contains the pattern, working on all cores. A nil molecule, or one whose
// search was given up, does not contain it.
func (q *Query) Filter(ctx context.Context, molecules []*Molecule) ([]bool, error) {
	keep := make([]bool, len(molecules))
	err := cores.Chunks(ctx, len(molecules), nil, func(_ context.Context, from, to int) error {
		var texts []string
		var rows []int
		for i := from; i < to; i++ {
			if molecules[i] != nil {
				texts = append(texts, molecules[i].text)
				rows = append(rows, i)
			}
		}
		for i, found := range q.native.Contains(texts) {
			keep[rows[i]] = found == rdkit.Present
		}
		return nil
	})
	return keep, err
}
