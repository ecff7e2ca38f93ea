package search_test

import (
	"context"
	"slices"
	"testing"

	"retort/orchestrator/latent/search"
	"retort/orchestrator/latent/search/toy"
)

// constant is a model that decodes every point to the same text.
type constant struct {
	*toy.Model
	text string
}

func (c *constant) Decode(_ context.Context, points []search.Point) ([]string, error) {
	return slices.Repeat([]string{c.text}, len(points)), nil
}

// If the decoder writes the same text for every point, a search still finds molecules by edits of graphs, within its
// budget.
func TestOptimizeByGraphEditsAlone(t *testing.T) {
	model := &constant{toy.New(), toy.Broken}
	s := searchFrom(t, model, toy.Molecule([4]int{3, 5, 4, 5}), 3)
	s.Goal.MinSimilarity = 0.4
	s.OnProgress = func(p search.Progress) error {
		if p.Evaluations > p.Iteration*s.Particles {
			t.Errorf("%+v is over the budget", p)
		}
		return nil
	}
	found, err := s.Optimize(t.Context())
	if err != nil || len(found) != 10 {
		t.Fatalf("%d molecules, %v", len(found), err)
	}
	start, err := s.Goal.Objective.Score(t.Context(), parsed(t, s.Seeds[0].SMILES))
	if err != nil || found[0].Score < start[0]+0.1 {
		t.Errorf("seed score %v, best result %v, error %v", start, found[0], err)
	}
}

// With costly scores, a search needs fewer evaluations for the same score. Edits that are not similar enough are never
// scored.
func TestCostlyScoresNeedFewerEvaluations(t *testing.T) {
	best := map[bool]float64{}
	for _, costly := range []bool{false, true} {
		for number := range uint64(3) {
			s := searchFrom(t, &constant{toy.New(), toy.Broken}, toy.Molecule([4]int{3, 5, 4, 5}), number)
			s.Goal.MinSimilarity = 0.4
			s.CostlyScores = costly
			s.Iterations = 4
			s.OnScored = func(m *search.Molecule) {
				if m.Similarity < 0.4 {
					t.Errorf("%+v was scored", m)
				}
			}
			found, err := s.Optimize(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			best[costly] += found[0].Score / 3
		}
	}
	if best[true] < best[false]+0.01 {
		t.Errorf("mean of the best scores %v with costly scores, %v without", best[true], best[false])
	}
}
