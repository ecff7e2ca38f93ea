package search_test

import (
	"testing"

	"retort/orchestrator/latent/search"
	"retort/orchestrator/latent/search/toy"
)

// Where the decoder writes one text whatever it is given, a search still finds molecules by changes of graphs, and
// evaluates no more than it may.
func TestASearchByGraphsAlone(t *testing.T) {
	model := &stubborn{toy.New(), toy.Broken}
	s := from(t, model, toy.Molecule([4]int{3, 5, 4, 5}), 3)
	s.Goal.MinSimilarity = 0.4
	s.Watch = func(p search.Progress) error {
		if p.Evaluations > p.Iteration*s.Particles {
			t.Errorf("%+v", p)
		}
		return nil
	}
	found, err := s.Optimize(t.Context())
	if err != nil || len(found) != 10 {
		t.Fatalf("%d molecules, %v", len(found), err)
	}
	start, err := s.Goal.Objective.Score(t.Context(), parsed(t, s.Seeds[0].SMILES))
	if err != nil || found[0].Score < start[0]+0.1 {
		t.Errorf("%v became %v, %v", start, found[0], err)
	}
}
