package chem

import (
	"context"
	"errors"

	"retort/chem/cores"
	"retort/chem/rdkit"
)

// Query is a substructure to search for. Any number of goroutines may use it.
type Query struct{ native *rdkit.Query }

// FragmentQuery compiles a SMILES fragment. A molecule contains it if it has the same atoms with the same bonds. Open
// positions ("*", "[3*]"), hydrogens and stereo are ignored. The errors are those of [Parse].
func FragmentQuery(smiles string) (*Query, error) {
	native, err := withText(smiles, rdkit.NewQuery)
	if err != nil {
		return nil, err
	}
	return &Query{native}, nil
}

// In reports whether the molecule contains the pattern. The error is ErrTooComplex if the search took too many steps.
func (q *Query) In(m *Molecule) (bool, error) {
	match := q.native.Contains([]string{m.text})[0]
	switch match {
	case rdkit.Unreadable:
		return false, errors.New("the molecule cannot be read")
	case rdkit.OverBudget:
		return false, ErrTooComplex
	}
	return match == rdkit.Present, nil
}

// Filter reports for each molecule whether it contains the pattern, on all cores. A nil molecule, or one whose search
// took too many steps, does not contain it.
func (q *Query) Filter(ctx context.Context, molecules []*Molecule) ([]bool, error) {
	contains := make([]bool, len(molecules))
	err := cores.Chunks(ctx, len(molecules), nil, func(_ context.Context, from, to int) error {
		var texts []string
		var rows []int
		for i := from; i < to; i++ {
			if molecules[i] != nil {
				texts = append(texts, molecules[i].text)
				rows = append(rows, i)
			}
		}
		for i, match := range q.native.Contains(texts) {
			contains[rows[i]] = match == rdkit.Present
		}
		return nil
	})
	return contains, err
}
