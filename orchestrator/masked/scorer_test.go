package masked

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
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

// people is the oracle of a job whose scores a person enters.
type people struct {
	failures map[string]int // the calls before a molecule has a score
	calls    map[string]int // so far
}

func (people) Name() string      { return objective.Told }
func (people) Outputs() []string { return []string{"score"} }
func (people) Unit() float64     { return 1 }
func (people) Facts() chem.Facts { return 0 }

func (p people) Score(_ context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	rows := make([][]float64, len(molecules))
	for i, m := range molecules {
		p.calls[m.SMILES()]++
		rows[i] = []float64{float64(m.HeavyAtoms())}
		if p.calls[m.SMILES()] <= p.failures[m.SMILES()] {
			rows[i][0] = math.NaN()
		}
	}
	return rows, nil
}

// A molecule without a score is scored again after each pass. Once it has a score, it joins those of the pass, is
// listed as evaluated, and is not scored again.
func TestALateScoreIsUsed(t *testing.T) {
	oracle := people{failures: map[string]int{"CCC": 1, "CC": 2}, calls: map[string]int{}}
	spec := objective.One(objective.Told)
	opened, err := spec.Open([]objective.Oracle{oracle}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &scorer{Objective: opened, scores: map[string]float64{}}
	if _, err := s.score(t.Context(), parse(t, "CCC", "CC", "C")); err != nil {
		t.Fatal(err)
	}
	latest := []*candidate{{molecule: parse(t, "C")[0], score: 1}}
	for pass, want := range []string{"[CCC 3]", "[CC 2]", "[]"} {
		late, err := s.scoreLate(t.Context(), latest)
		got := []string{}
		for _, c := range late {
			got = append(got, fmt.Sprint(c.molecule.SMILES(), " ", c.score))
		}
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("pass %d: %v, want %s, %v", pass, got, want, err)
		}
	}
	isListed := slices.Equal(s.evaluated, []string{"CCC", "CC"})
	if !isListed || s.scores["CC"] != 2 || oracle.calls["CC"] != 3 {
		t.Errorf("evaluated %v, scores %v, calls %v", s.evaluated, s.scores, oracle.calls)
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
