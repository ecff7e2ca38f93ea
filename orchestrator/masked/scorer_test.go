package masked

import (
	"context"
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
	opened, err := spec.Open(nil, nil)
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

// Molecules that were not scored because the oracle failed are scored on the next call.
func TestScoreAfterFailure(t *testing.T) {
	oracle := &halfway{scored: 1}
	spec := objective.One("halfway")
	opened, err := spec.Open([]objective.Oracle{oracle}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &scorer{Objective: opened, scores: map[string]float64{}}
	var molecules []*chem.Molecule
	for _, smiles := range []string{"C", "CC", "CCC"} {
		m, err := chem.Parse(smiles)
		if err != nil {
			t.Fatal(err)
		}
		molecules = append(molecules, m)
	}
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
