package search

import (
	"context"
	"errors"
	"math"
	"testing"

	"retort/chem"
)

func number(x float64) *float64 { return &x }

// constant is a property with the same value for all molecules.
func constant(name string, unit, value float64) Property {
	return computed(name, unit, 0, func(*chem.Molecule) float64 { return value })
}

func TestASumOfTerms(t *testing.T) {
	molecule, err := chem.Parse("CCO")
	if err != nil {
		t.Fatal(err)
	}
	weight := constant("weight", 50, 300)
	for _, c := range []struct {
		name        string
		sum         Sum
		score, unit float64
	}{
		{"one term", Sum{{weight, 1, nil, nil}}, 300, 50},
		{"a negative weight", Sum{{weight, -2, nil, nil}}, -600, 100},
		{"two terms", Sum{{weight, 1, nil, nil}, {constant("x", 1, 7), 3, nil, nil}}, 321, 50},
		{"within the window", Sum{{weight, 2, number(200), number(300)}}, 2, 0.2},
		{"above the window", Sum{{weight, 1, nil, number(250)}}, 0.5, 0.1},
		{"below the window", Sum{{weight, 1, number(400), nil}}, 1. / 3, 0.1},
	} {
		scores, err := c.sum.Score(t.Context(), []*chem.Molecule{molecule, molecule})
		if err != nil || len(scores) != 2 || math.Abs(scores[1]-c.score) > 1e-12 {
			t.Errorf("%s: %v %v, want %v", c.name, scores, err, c.score)
		}
		if got := c.sum.Unit(); math.Abs(got-c.unit) > 1e-12 {
			t.Errorf("%s: unit %v, want %v", c.name, got, c.unit)
		}
	}
	failed := errors.New("no oracle")
	failing := Property{Name: "f", Unit: 1, Values: func(context.Context, []*chem.Molecule) ([]float64, error) { return nil, failed }}
	if _, err := (Sum{{weight, 1, nil, nil}, {failing, 1, nil, nil}}).Score(t.Context(), nil); !errors.Is(err, failed) {
		t.Errorf("a property that fails gave %v", err)
	}
}

func TestThePropertiesAreThoseOfTheMolecule(t *testing.T) {
	m, err := chem.Parse("CC(Cc1ccc(cc1)C(C(=O)O)C)C")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"QED": m.QED(), "plogP": m.PenalizedLogP(chem.Normalized), "SA": m.SA(), "LogP": m.LogP(), "TPSA": m.TPSA(), "MW": m.Weight(),
	} {
		found := false
		for _, p := range Properties {
			if p.Name != name {
				continue
			}
			found = true
			got, err := p.Values(t.Context(), []*chem.Molecule{m})
			if err != nil || got[0] != want || !(p.Unit > 0) {
				t.Errorf("%s: %v, want %v; unit %v, error %v", name, got, want, p.Unit, err)
			}
		}
		if !found {
			t.Errorf("%s is no property", name)
		}
	}
}

func TestFitness(t *testing.T) {
	for _, c := range []struct {
		goal              Goal
		score, similarity float64
		want              float64
	}{
		{Goal{}, 0.5, 0, 5},
		{Goal{Minimize: true}, 0.5, 0, -5},
		{Goal{MinSimilarity: 0.4}, 0.5, 0.4, 5},
		{Goal{MinSimilarity: 0.4}, 0.5, 0.3, 2.5}, // a quarter of the similarity is missing: a quarter of the penalty of 10
		{Goal{MinSimilarity: 0.4, Minimize: true}, 0.5, 0, -15},
	} {
		c.goal.Objective = Sum{{constant("x", 0.1, 0), 1, nil, nil}}
		if got := c.goal.fitness(&Molecule{Score: c.score, Similarity: c.similarity}); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v with score %v and similarity %v: fitness %v, want %v", c.goal, c.score, c.similarity, got, c.want)
		}
	}
}

func TestTheHallOfFameKeepsTheBest(t *testing.T) {
	for _, minimize := range []bool{false, true} {
		h := hallOfFame{goal: &Goal{Minimize: minimize}, size: 3}
		for i, score := range []float64{3, 1, 3, 4, 2, 5, 4} {
			h.add(&Molecule{SMILES: string(rune('a' + i)), Score: score})
			h.add(&Molecule{SMILES: "a", Score: score}) // there already, or was
		}
		want := []string{"f", "d", "g"}
		if minimize {
			want = []string{"b", "e", "a"}
		}
		for i, m := range h.best {
			if m.SMILES != want[i] {
				t.Errorf("minimize %v: place %d is %s, want %s", minimize, i, m.SMILES, want[i])
			}
		}
		if len(h.best) != 3 || h.top() != h.best[0] {
			t.Errorf("minimize %v: %d are kept", minimize, len(h.best))
		}
	}
}
