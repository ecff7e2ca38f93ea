package objective_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
)

// toldLength is the oracle told. It scores a molecule by the length of its SMILES, and counts its molecules.
type toldLength struct {
	scored *int
	err    error
}

func (toldLength) Name() string      { return objective.Told }
func (toldLength) Outputs() []string { return []string{"score"} }
func (toldLength) Unit() float64     { return 0.1 }
func (toldLength) Facts() chem.Facts { return 0 }

func (o toldLength) Score(_ context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	*o.scored += len(molecules)
	var rows [][]float64
	for _, m := range molecules {
		rows = append(rows, []float64{float64(len(m.SMILES()))})
	}
	return rows, o.err
}

// Known scores are of the term told if the objective has it, else of the objective. They are not computed.
func TestKnownScores(t *testing.T) {
	known, err := objective.ReadKnown(t.Context(), []objective.Known{
		{SMILES: "OCC", Score: new(50.0)}, {SMILES: "CCO", Score: new(70.0)}, {SMILES: "CCN"}, {SMILES: "C("},
	}, true)
	if err != nil || fmt.Sprint(known.SMILES) != "[CCO CCN]" {
		t.Fatalf("%v %v", known, err)
	}
	scored := 0
	for spec, want := range map[string]string{
		`{"name": "told", "unit": 2}`:               "[70 NaN 3]",
		`["told", {"name": "rings", "weight": 10}]`: "[70 NaN 3]",
		`"heavy_atoms"`:                             "[70 NaN 3]",
	} {
		opened := open(t, spec, toldLength{&scored, nil})
		opened.UseKnown(known)
		scores, err := opened.Score(t.Context(), read(t, opened.Facts(), "CCO", "CCN", "CCC"))
		if err != nil || fmt.Sprint(scores) != want {
			t.Errorf("%s: %v %v", spec, scores, err)
		}
	}
	if scored != 2 {
		t.Errorf("%d molecules were scored", scored)
	}
	if unit := open(t, `{"name": "told", "unit": 2}`, toldLength{&scored, nil}).Unit(); unit != 2 {
		t.Errorf("unit %v", unit)
	}
	failing := open(t, `"told"`, toldLength{&scored, errors.New("tired")})
	failing.UseKnown(known)
	scores, err := failing.Score(t.Context(), read(t, 0, "CCC", "CCO"))
	if err == nil || scores[0] != 3 || scores[1] != 70 {
		t.Errorf("%v %v", scores, err)
	}
	if err := failing.Probe(t.Context()); err != nil {
		t.Errorf("told was probed: %v", err)
	}
	_, err = objective.ReadKnown(t.Context(), []objective.Known{{SMILES: "C"}, {SMILES: "C("}}, false)
	if f := fault.As(err); f == nil || f.Field() != "known[1].smiles" {
		t.Error(err)
	}
	if !math.IsNaN(known.Score("CCN")) || known.Has("CCC") {
		t.Errorf("%+v", known)
	}
}

// A request that is no job learns where the term told is served.
func TestToldNeedsAJob(t *testing.T) {
	spec := objective.One(objective.Told)
	_, err := spec.Open(nil, nil, nil)
	if f := fault.As(err); f == nil || f.Kind != fault.Invalid || f.Message !=
		`Value error, the term "told" is for searches as jobs: POST /generate/jobs` {
		t.Error(err)
	}
}
