package objective_test

import (
	"fmt"
	"slices"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
)

// The front of many small molecules has those that a comparison of all pairs finds.
func TestFront(t *testing.T) {
	const spec = `["heavy_atoms", {"name": "TPSA", "weight": -2}]`
	smiles := []string{"C", "CC", "CCO", "CCC", "OCCO", "CCCCCC", "OCCCCO", "c1ccccc1", "OCO", "CCCCCN"}
	for _, minimize := range []bool{false, true} {
		opened := open(t, spec)
		front, err := opened.KeepFront()
		if err != nil {
			t.Fatal(err)
		}
		molecules := read(t, opened.Facts(), smiles...)
		scores, err := opened.Score(t.Context(), molecules)
		if err != nil {
			t.Fatal(err)
		}
		var scored []objective.Tradeoff
		var size, area []float64 // lower is better, of both
		for i, m := range molecules {
			scored = append(scored, objective.Tradeoff{SMILES: m.SMILES(), Score: scores[i]})
			sign := 1.0
			if minimize {
				sign = -1
			}
			tpsa := m.TPSA()
			atoms := scores[i] + 2*tpsa
			size = append(size, -sign*atoms)
			area = append(area, sign*tpsa)
		}
		var want []string
		for i := range molecules {
			dominated := false
			for k := range molecules {
				noWorse := size[k] <= size[i] && area[k] <= area[i]
				dominated = dominated || noWorse && (size[k] < size[i] || area[k] < area[i])
			}
			if !dominated {
				want = append(want, molecules[i].SMILES())
			}
		}
		var got []string
		for _, m := range front.Of(append(scored, scored...), minimize) {
			got = append(got, m.SMILES)
			if len(m.Values) != 2 || m.Values[1] < 0 {
				t.Errorf("%+v", m)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 2 || len(want) == len(smiles) {
			t.Errorf("minimize %v: %v, want %v", minimize, got, want)
		}
	}
	if _, err := open(t, `"QED"`).KeepFront(); fault.KindOf(err) != fault.Invalid {
		t.Errorf("one term: %v", err)
	}
}
