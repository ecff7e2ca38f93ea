package masked

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"retort/chem"
	"retort/orchestrator/objective"
)

// A request with scores computes exactly the facts that properties reads. A missing fact would cost a second parse of
// each molecule.
func TestFactsOfScores(t *testing.T) {
	spec := objective.One("QED")
	opened, err := spec.Open(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := newGeneration(nil, Request{Scores: WantedScores{All: true}}, &scorer{Objective: opened}, nil)
	if want := chem.FactQED | chem.FactLogP | chem.FactSA | chem.FactTPSA | chem.FactFormula; g.facts != want {
		t.Errorf("the facts are %b, want %b", g.facts, want)
	}
}

// halfway is an oracle that fails once, during its first call.
type halfway struct {
	scored int // molecules scored before the failure
	calls  int
}

func (*halfway) Name() string      { return "halfway" }
func (*halfway) Outputs() []string { return []string{"score"} }
func (*halfway) Unit() float64     { return 1 }
func (*halfway) Facts() chem.Facts { return 0 }

func (h *halfway) Score(_ context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	h.calls++
	rows := make([][]float64, len(molecules))
	for i := range molecules {
		if h.calls == 1 && i == h.scored {
			return rows, errors.New("oracle failed")
		}
		rows[i] = []float64{1}
	}
	return rows, nil
}

func parse(t *testing.T, smiles ...string) (molecules []*chem.Molecule) {
	t.Helper()
	for _, text := range smiles {
		m, err := chem.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		molecules = append(molecules, m)
	}
	return molecules
}

// Molecules that were not scored because the oracle failed are scored on the next call.
func TestScoreAfterFailure(t *testing.T) {
	oracle := &halfway{scored: 1}
	spec := objective.One("halfway")
	opened, err := spec.Open([]objective.Oracle{oracle}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &scorer{Objective: opened, scores: map[string]float64{}}
	molecules := parse(t, "C", "CC", "CCC")
	scores, err := s.score(t.Context(), molecules)
	isPartial := scores[0] == 1 && math.IsNaN(scores[1]) && math.IsNaN(scores[2])
	if err == nil || !isPartial {
		t.Fatalf("%v, %v", scores, err)
	}
	scores, err = s.score(t.Context(), molecules)
	if err != nil || scores[1] != 1 || scores[2] != 1 {
		t.Errorf("%v, %v", scores, err)
	}
}

// Molecules that were not filtered because the oracle failed are filtered on the next call, and count once.
func TestFilterAfterFailure(t *testing.T) {
	var filters objective.Filters
	const bounds = `[{"name": "halfway", "max": 1}, {"name": "MW", "max": 40}]`
	if err := json.Unmarshal([]byte(bounds), &filters); err != nil {
		t.Fatal(err)
	}
	filter, err := filters.Open([]objective.Oracle{&halfway{}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &scorer{filter: filter, passes: map[string]bool{}}
	candidates := func() (all []*candidate) {
		for _, m := range parse(t, "C", "CC", "CCC", "C") {
			all = append(all, &candidate{molecule: m})
		}
		return all
	}
	var failure *objective.Failure
	if _, err := s.filtered(t.Context(), candidates()); !errors.As(err, &failure) || failure.Oracle() != "halfway" {
		t.Fatalf("the error does not name the oracle: %v", err)
	}
	passed, err := s.filtered(t.Context(), candidates())
	left := filter.LeftOut()
	if err != nil || len(passed) != 3 || left.Molecules != 1 || left.Filters[0].Molecules != 0 {
		t.Errorf("%d of 4 pass, left out %+v, %v", len(passed), left, err)
	}
}
