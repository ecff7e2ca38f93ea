package objective_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"retort/chem"
	"retort/chem/synthesis"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
)

// A term that counts the steps of syntheses bounds results, and comes with the route.
func TestSynthesisSteps(t *testing.T) {
	file := strings.NewReader("CC(=O)O\nNc1ccccc1\n")
	blocks, err := synthesis.ReadBlocks(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	planner, err := synthesis.NewPlanner(blocks)
	if err != nil {
		t.Fatal(err)
	}
	var filters objective.Filters
	if err := json.Unmarshal([]byte(`[{"name": "synthesis_steps", "max": 2}]`), &filters); err != nil {
		t.Fatal(err)
	}
	filter, err := filters.Open(nil, nil, planner.NewSearch())
	if err != nil {
		t.Fatal(err)
	}
	values, err := objective.Wanted{"synthesis_steps"}.Open(nil, planner.NewSearch())
	if err != nil {
		t.Fatal(err)
	}
	var molecules []*chem.Molecule
	for _, smiles := range []string{"CC(=O)Nc1ccccc1", "Nc1ccccc1", "CCCCCCCC"} {
		m, err := chem.Parse(smiles)
		if err != nil {
			t.Fatal(err)
		}
		molecules = append(molecules, m)
	}
	excess, err := filter.Excess(t.Context(), molecules)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{0, 0, 2}, excess); diff != "" {
		t.Error(diff)
	}
	rows, err := values.Values(t.Context(), molecules)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 0, 4} {
		if rows[i][0].Value != want {
			t.Errorf("%s takes %v steps, want %v", molecules[i], rows[i][0].Value, want)
		}
	}
	if route := values.Route(molecules[0]); route == nil || route.Steps[0].Reaction != "amide coupling" {
		t.Errorf("route %v", route)
	}
	if route := values.Route(molecules[2]); route != nil {
		t.Errorf("route %v", route)
	}
	if _, err := filters.Open(nil, nil, nil); err == nil || fault.As(err).Field() != "[0]" {
		t.Errorf("without a search: %v", err)
	}
	err = json.Unmarshal([]byte(`[{"name": "synthesis_steps", "max": 4}]`), &filters)
	if err == nil || !strings.Contains(err.Error(), "routes have at most 3 steps") {
		t.Errorf("a bound that every molecule meets: %v", err)
	}
}
