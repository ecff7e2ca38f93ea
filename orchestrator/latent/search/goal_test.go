package search

import (
	"context"
	"math"
	"testing"

	"retort/chem"
)

// flat is an objective with a unit that scores every molecule 0.
type flat struct{ unit float64 }

func (f flat) Facts() chem.Facts { return 0 }

func (f flat) Unit() float64 { return f.unit }

func (f flat) Score(_ context.Context, molecules []*chem.Molecule) ([]float64, error) {
	return make([]float64, len(molecules)), nil
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
		{Goal{MinSimilarity: 0.4}, 0.5, 0.3, 2.5}, // a quarter of the similarity is missing: a quarter of the penalty
		{Goal{MinSimilarity: 0.4, Minimize: true}, 0.5, 0, -15},
	} {
		c.goal.Objective = flat{0.1}
		if got := c.goal.fitness(&Molecule{Score: c.score, Similarity: c.similarity}); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v, score %v, similarity %v: fitness %v, want %v", c.goal, c.score, c.similarity, got, c.want)
		}
	}
}

func TestTheHallOfFameKeepsTheBest(t *testing.T) {
	for _, minimize := range []bool{false, true} {
		h := hallOfFame{goal: &Goal{Minimize: minimize}, size: 3}
		for i, score := range []float64{3, 1, 3, 4, 2, 5, 4} {
			h.add(&Molecule{SMILES: string(rune('a' + i)), Score: score})
			h.add(&Molecule{SMILES: "a", Score: score}) // a duplicate
		}
		want := []string{"f", "d", "g"}
		if minimize {
			want = []string{"b", "e", "a"}
		}
		for i, m := range h.best {
			if m.SMILES != want[i] {
				t.Errorf("minimize %v: rank %d is %s, want %s", minimize, i, m.SMILES, want[i])
			}
		}
		if len(h.best) != 3 {
			t.Errorf("minimize %v: %d molecules", minimize, len(h.best))
		}
	}
}
