package search

import (
	"context"
	"math/rand/v2"
	"testing"

	"retort/chem"
)

// anySMILES is a model that reads every SMILES and decodes none.
type anySMILES struct{ space *Space }

func (m anySMILES) Space() *Space { return m.space }

func (anySMILES) Tokens(string) ([]int32, error) { return []int32{1}, nil }

func (anySMILES) TextTokens() []int32 { return nil }

func (m anySMILES) Encode(_ context.Context, rows [][]int32) ([][]float32, error) {
	hiddens := make([][]float32, len(rows))
	for i := range hiddens {
		hiddens[i] = make([]float32, m.space.Size())
	}
	return hiddens, nil
}

func (anySMILES) Decode(_ context.Context, points []Point) ([]string, error) {
	return make([]string, len(points)), nil
}

func (anySMILES) Beams(context.Context, []Point, int) ([][]string, error) { return nil, nil }

// weight is the molecular weight as an objective.
type weight struct{ flat }

func (weight) Score(_ context.Context, molecules []*chem.Molecule) ([]float64, error) {
	scores := make([]float64, len(molecules))
	for i, m := range molecules {
		scores[i] = m.Weight()
	}
	return scores, nil
}

// ibuprofen is the seed of the tests.
const ibuprofen = "CC(C)Cc1ccc(C(C)C(=O)O)cc1"

// newWeightSearch returns an optimizer for the molecular weight.
func newWeightSearch(t *testing.T, change func(*Search)) *optimizer {
	t.Helper()
	space, err := NewSpace(make([]float64, 8), []float64{1, 1, 1, 1, 1, 1, 1, 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := chem.Parse(ibuprofen)
	if err != nil {
		t.Fatal(err)
	}
	s := Search{
		Model:      anySMILES{space},
		Goal:       Goal{Objective: weight{flat{10}}},
		Seeds:      []Seed{NewSeed(seed, []int32{1})},
		Random:     rand.New(rand.NewPCG(1, 1)),
		Molecules:  1,
		Particles:  30,
		Iterations: 10,
	}
	s.Seeds[0].Hidden = make([]float32, 8)
	change(&s)
	return newOptimizer(s)
}

// edits returns edits of the seed with their predictions.
func edits(t *testing.T, o *optimizer, count int) []variant {
	t.Helper()
	parents := []chem.Parents{{First: o.Seeds[0].SMILES, Count: count, Seed: 5}}
	variants, err := o.editAndPredict(t.Context(), parents)
	if err != nil {
		t.Fatal(err)
	}
	return variants[0]
}

func smilesOf(variants []variant) []string {
	smiles := make([]string, len(variants))
	for i, v := range variants {
		smiles[i] = v.smiles
	}
	return smiles
}

// A search that continues an earlier one learns from its warm starts, so the first iteration already chooses.
func TestASurrogateLearnsFromWarmStarts(t *testing.T) {
	for count, want := range map[int]bool{0: false, minExamples: true} {
		o := newWeightSearch(t, func(*Search) {})
		o.WarmStarts = smilesOf(edits(t, o, count))
		if err := o.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o.evaluator.surrogate.ready() != want {
			t.Errorf("%d warm starts: %d examples", count, len(o.evaluator.surrogate.examples))
		}
	}
}

// The most promising edit is the best prediction among those that are similar enough, are not evaluated and do not
// belong to another child.
func TestTheMostPromisingEditMeetsTheConstraint(t *testing.T) {
	o := newWeightSearch(t, func(s *Search) { s.Goal.MinSimilarity = 0.6 })
	all := edits(t, o, 120)
	if _, _, err := o.scoreTexts(t.Context(), smilesOf(all[:40])); err != nil {
		t.Fatal(err)
	}
	o.evaluator.surrogate.fit()
	all = edits(t, o, 120)
	first := o.mostPromising(all, nil)
	second := o.mostPromising(all, map[string]bool{first.smiles: true})
	better := 0
	for _, v := range all {
		if v.predicted > second.predicted && v.smiles != first.smiles {
			better++
			if o.isCandidate(v) {
				t.Errorf("%s is a candidate with a better prediction than %s", v.smiles, second.smiles)
			}
		}
	}
	if second.smiles == first.smiles || second.predicted > first.predicted || better == 0 {
		t.Errorf("%s, then %s; %d better predictions are no candidates", first.smiles, second.smiles, better)
	}
}

// Each round of edits has a candidate that is at least as promising as that of the round before, and most rounds have a
// better one.
func TestFurtherRoundsAreMorePromising(t *testing.T) {
	o := newWeightSearch(t, func(s *Search) {
		s.CostlyScores = true
		s.Goal.MinSimilarity = 0.3
	})
	all := edits(t, o, 120)
	if _, _, err := o.scoreTexts(t.Context(), smilesOf(all[:60])); err != nil {
		t.Fatal(err)
	}
	o.evaluator.surrogate.fit()
	variants := [][]variant{edits(t, o, 120)}
	before := 0.0
	for range 4 {
		if err := o.editAgain(t.Context(), variants); err != nil {
			t.Fatal(err)
		}
		best := o.mostPromising(variants[0], nil)
		if best.predicted < before || best.similarity < 0.3 {
			t.Errorf("%s, similarity %v: predicted %v after %v", best.smiles, best.similarity, best.predicted, before)
		}
		before = best.predicted
	}
	highest := 0.0
	for _, v := range edits(t, o, 200) {
		if o.isCandidate(v) {
			highest = max(highest, v.predicted)
		}
	}
	if before <= highest {
		t.Errorf("predicted %v after several edits, %v after one", before, highest)
	}
}

func TestEffort(t *testing.T) {
	for _, c := range []struct {
		evaluations int
		similarity  float64
		costly      bool
		want        effort
	}{
		{300, 0.7, false, effort{3, 1, 250}},
		{300, 0, false, effort{3, 1, 250}},
		{2000, 0, false, effort{8, 1, 1000}},
		{8000, 0.4, false, effort{3, 1, 250}},
		{300, 0.7, true, effort{10, 3, 1000}},
		{3000, 0, true, effort{10, 2, 1000}},
		{100_000, 0, true, effort{10, 1, 1000}},
	} {
		s := Search{Particles: 1, Iterations: c.evaluations, CostlyScores: c.costly}
		s.Goal.MinSimilarity = c.similarity
		if got := s.effort(); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
