package latent

import (
	"slices"

	"retort/orchestrator/latent/search"
	"retort/orchestrator/unfinished"
)

// results are what the searches of a request have found, by row of the answer.
type results struct {
	found     [][]*search.Molecule // nil where a row was skipped
	evaluated [][]*Molecule        // with Generate.Evaluated
	ended     []bool               // whether the search has come to its end
}

func newResults(rows int) *results {
	return &results{
		found:     make([][]*search.Molecule, rows),
		evaluated: make([][]*Molecule, rows),
		ended:     slices.Repeat([]bool{true}, rows),
	}
}

// begin says that there is a search for row i.
func (r *results) begin(i int) {
	r.found[i] = []*search.Molecule{}
	r.ended[i] = false
}

// end takes what the search for row i has found.
func (r *results) end(i int, found []*search.Molecule, err error) {
	if found != nil {
		r.found[i] = found
	}
	r.ended[i] = err == nil
}

// any reports whether anything was found that the answer would show. The seeds, which the client knows, are something
// where an objective of the client's own has scored them.
func (r *results) any(seeds []search.Seed, own bool) bool {
	isNew := func(smiles string) bool {
		return own || !slices.ContainsFunc(seeds, func(s search.Seed) bool { return s.SMILES == smiles })
	}
	found := func(m *search.Molecule) bool { return isNew(m.SMILES) }
	scored := func(m *Molecule) bool { return isNew(m.Smiles) }
	return slices.ContainsFunc(slices.Concat(r.found...), found) || slices.ContainsFunc(slices.Concat(r.evaluated...), scored)
}

// unfinished is what the answer says of what cut it short, nil for nothing.
func (r *results) unfinished(asked Generate, cut *unfinished.Mark) *Unfinished {
	if cut == nil {
		return nil
	}
	one := &Unfinished{Mark: *cut}
	for i, ended := range r.ended {
		if !ended && asked.Smi.List && !asked.Shared {
			one.Seeds = append(one.Seeds, i)
		}
	}
	return one
}
