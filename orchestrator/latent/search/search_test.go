package search_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"retort/chem"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/latent/search/toy"
	"retort/orchestrator/objective"
)

// openQED returns the objective QED.
func openQED(t testing.TB) search.Objective {
	t.Helper()
	spec := objective.One("QED")
	opened, err := spec.Open(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// scoring is an objective that a function computes.
type scoring func(context.Context, []*chem.Molecule) ([]float64, error)

func (s scoring) Facts() chem.Facts { return 0 }

func (s scoring) Unit() float64 { return 1 }

func (s scoring) Score(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	return s(ctx, molecules)
}

// searchFrom returns a search from one molecule with the defaults of the API.
func searchFrom(t testing.TB, model search.Model, smiles string, number uint64) search.Search {
	t.Helper()
	m, err := chem.Parse(smiles)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := model.Tokens(m.SMILES())
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := model.Encode(t.Context(), [][]int32{tokens})
	if err != nil {
		t.Fatal(err)
	}
	seed := search.Seed{SMILES: m.SMILES(), Fingerprint: m.Fingerprint(), Tokens: tokens, Hidden: hidden[0]}
	return search.Search{
		Model:        model,
		Random:       rand.New(rand.NewPCG(number, 1)),
		Goal:         search.Goal{Objective: openQED(t), MinSimilarity: 0.7},
		Seeds:        []search.Seed{seed},
		Molecules:    10,
		Particles:    30,
		Iterations:   10,
		ScaledRadius: 1,
	}
}

func parsed(t testing.TB, smiles string) []*chem.Molecule {
	t.Helper()
	m, err := chem.Parse(smiles)
	if err != nil {
		t.Fatal(err)
	}
	return []*chem.Molecule{m}
}

// reachable returns the scores of all molecules of the toy space that are similar enough to the seed, best first.
func reachable(t testing.TB, s search.Search) (scores []float64) {
	t.Helper()
	var similar []*chem.Molecule
	for _, m := range everything() {
		fingerprint := m.Fingerprint()
		if m.SMILES() != s.Seeds[0].SMILES && fingerprint.Tanimoto(&s.Seeds[0].Fingerprint) >= s.Goal.MinSimilarity {
			similar = append(similar, m)
		}
	}
	scores, err := s.Goal.Objective.Score(t.Context(), similar)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(scores)
	slices.Reverse(scores)
	return scores
}

// everything returns all molecules of the toy space, with fingerprints and the facts of QED.
var everything = sync.OnceValue(func() (molecules []*chem.Molecule) {
	smiles := slices.Sorted(maps.Keys(toy.Steps()))
	results, err := chem.Evaluate(context.Background(), smiles, chem.FactFingerprint|chem.FactQED)
	if err != nil {
		panic(err)
	}
	for _, r := range results {
		molecules = append(molecules, r.Molecule)
	}
	return molecules
})

// A seed whose score comes late is a parent with this score.
func TestALateScoreOfASeedIsUsed(t *testing.T) {
	seed := slices.Sorted(maps.Keys(toy.Steps()))[0]
	calls := 0
	light := scoring(func(_ context.Context, molecules []*chem.Molecule) ([]float64, error) {
		calls++
		scores := make([]float64, len(molecules))
		for i, m := range molecules {
			scores[i] = -float64(m.HeavyAtoms())
			if m.SMILES() == seed {
				scores[i] = 1000
				if calls < 4 {
					scores[i] = math.NaN()
				}
			}
		}
		return scores, nil
	})
	s := searchFrom(t, toy.New(), seed, 1)
	s.Goal = search.Goal{Objective: light}
	s.LateScores = true
	parents, err := s.OptimizeParents(t.Context())
	if err != nil || len(parents) == 0 || parents[seed] != 1000 {
		t.Errorf("%v %v", parents, err)
	}
}

// A molecule whose score comes late is a result.
func TestALateScoreIsUsed(t *testing.T) {
	failed := ""
	calls := 0
	heavy := scoring(func(_ context.Context, molecules []*chem.Molecule) ([]float64, error) {
		calls++
		scores := make([]float64, len(molecules))
		for i, m := range molecules {
			scores[i] = float64(m.HeavyAtoms())
			if failed == "" && i == len(molecules)-1 && calls > 2 { // calls score the known molecules, then the seed
				failed = m.SMILES()
			}
			if m.SMILES() == failed {
				scores[i] = 1000
				if calls < 6 {
					scores[i] = math.NaN()
				}
			}
		}
		return scores, nil
	})
	for _, late := range []bool{true, false} {
		failed = ""
		calls = 0
		s := searchFrom(t, toy.New(), slices.Sorted(maps.Keys(toy.Steps()))[0], 1)
		s.Goal = search.Goal{Objective: heavy}
		s.LateScores = late
		listed := 0
		s.OnScored = func(m *search.Molecule) {
			if m.SMILES == failed {
				listed++
			}
		}
		found, err := s.Optimize(t.Context())
		if err != nil || failed == "" {
			t.Fatalf("%q %v", failed, err)
		}
		if best := found[0]; (best.SMILES == failed && best.Score == 1000) != late || (listed == 1) != late {
			t.Errorf("LateScores %v: best %+v, failed %s, listed %d times", late, best, failed, listed)
		}
	}
}

// With the documented defaults, including a least similarity of 0.7, nearly every seed gives ten molecules. A few have
// fewer neighbours that the tokens of the toy space can spell.
func TestTheDefaultsFindTenMolecules(t *testing.T) {
	searches, all := 0, 0
	for i, smiles := range slices.Sorted(maps.Keys(toy.Steps())) {
		if i%150 != 0 {
			continue
		}
		found, err := searchFrom(t, toy.New(), smiles, uint64(i)).Optimize(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		searches++
		all += len(found)
		seen := map[string]bool{smiles: true}
		for _, m := range found {
			if seen[m.SMILES] || m.Similarity < 0.7 {
				t.Errorf("%s: %+v is the seed, a duplicate or below the least similarity", smiles, m)
			}
			seen[m.SMILES] = true
		}
	}
	if searches < 4 || float64(all) < 9.5*float64(searches) {
		t.Errorf("%d searches found %d molecules", searches, all)
	}
}

// If fewer than ten molecules are similar enough, the search returns those, within its budget.
func TestASeedWithFewSimilarMolecules(t *testing.T) {
	for _, smiles := range []string{"c1ccccc1", "CCO", "C"} {
		s := searchFrom(t, toy.New(), smiles, 1)
		evaluations := 0
		s.OnProgress = func(p search.Progress) error {
			evaluations = p.Evaluations
			return nil
		}
		found, err := s.Optimize(t.Context())
		if err != nil || len(found) > 3 || evaluations > 300+2*10 {
			t.Errorf("%s: %d molecules, %d evaluations, %v", smiles, len(found), evaluations, err)
		}
	}
}

// A search with too small a budget exceeds it by at most two evaluations per missing result, and reports them.
func TestFillingCostsAtMostTwoEvaluationsPerResult(t *testing.T) {
	s := searchFrom(t, toy.New(), "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 5)
	s.Particles, s.Iterations, s.Molecules, s.Goal.MinSimilarity = 2, 1, 25, 0.5
	var events []search.Progress
	s.OnProgress = func(p search.Progress) error {
		events = append(events, p)
		return nil
	}
	found, err := s.Optimize(t.Context())
	if err != nil || len(found) != 25 {
		t.Fatalf("%d molecules, %v", len(found), err)
	}
	if len(events) != 2 || events[0].Evaluations > 3 || events[1].Evaluations > 3+2*25 || events[1].Iteration != 1 {
		t.Errorf("%+v", events)
	}
}

func TestALongSearchFindsTheBest(t *testing.T) {
	for _, minSimilarity := range []float64{0.2, 0.6} {
		s := searchFrom(t, toy.New(), "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7)
		s.Goal.MinSimilarity = minSimilarity
		s.Iterations = 20
		found, err := s.Optimize(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := reachable(t, s)
		if len(found) == 0 || found[0].Score < want[0]-1e-9 {
			t.Errorf("least similarity %v: best result %v, best possible score %v", minSimilarity, found, want[0])
		}
	}
}

func TestResultsAreDistinctSortedAndWithinTheConstraint(t *testing.T) {
	for _, minimize := range []bool{false, true} {
		s := searchFrom(t, toy.New(), toy.Molecule([4]int{3, 5, 4, 5}), 3)
		s.Goal.Minimize, s.Goal.MinSimilarity = minimize, 0.3
		found, err := s.Optimize(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{s.Seeds[0].SMILES: true}
		for i, m := range found {
			if seen[m.SMILES] || m.Similarity < 0.3 {
				t.Errorf("%+v is the seed, a duplicate or below the least similarity", m)
			}
			seen[m.SMILES] = true
			if i > 0 && found[i-1].Score != m.Score && (found[i-1].Score > m.Score) == minimize {
				t.Errorf("minimize %v: score %v is before %v", minimize, found[i-1].Score, m.Score)
			}
		}
	}
}

// Particles bounds the evaluations per iteration, and points are decoded in batches of at most 256.
func TestASearchStaysWithinItsBudget(t *testing.T) {
	model := toy.New()
	s := searchFrom(t, model, "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7)
	s.Particles, s.Iterations = 100, 6
	iterations := 0
	s.OnProgress = func(p search.Progress) error {
		iterations++
		if p.Iteration != iterations || p.Evaluations > p.Iteration*s.Particles {
			t.Errorf("progress %+v in iteration %d with %d particles", p, iterations, s.Particles)
		}
		return nil
	}
	if _, err := s.Optimize(t.Context()); err != nil {
		t.Fatal(err)
	}
	if iterations != 6 || model.Decoded.Load() < 200 || model.Largest.Load() > 256 {
		t.Errorf("%d iterations decoded %d points, up to %d at once",
			iterations, model.Decoded.Load(), model.Largest.Load())
	}
}

func TestTheSameRandomNumbersGiveTheSameResult(t *testing.T) {
	for _, costly := range []bool{false, true} {
		find := func(number uint64) []*search.Molecule {
			s := searchFrom(t, toy.New(), "Cc1ccc(C)c(-c2ccc(C)cc2)c1", number)
			s.Goal.MinSimilarity = 0.2
			s.CostlyScores = costly
			found, err := s.Optimize(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if first := find(1); !reflect.DeepEqual(first, find(1)) || reflect.DeepEqual(first, find(2)) {
			t.Errorf("costly scores %v: the results differ with one seed, or agree with two", costly)
		}
	}
}

// An error of the watcher or the objective and the end of the context end a search at once: the model is not called
// again.
func TestAnErrorEndsTheSearch(t *testing.T) {
	left := errors.New("the client has left")
	failed := errors.New("the objective failed")
	for name, c := range map[string]struct {
		// watch and score are called in the search; cancel ends its context.
		watch func(cancel func()) error
		score func() error
		want  error
	}{
		"watcher":   {watch: func(func()) error { return left }, want: left},
		"context":   {watch: func(cancel func()) error { cancel(); return nil }, want: context.Canceled},
		"objective": {score: func() error { return failed }, want: failed},
	} {
		for algorithm, run := range algorithms {
			t.Run(name+"/"+algorithm, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				model := toy.New()
				s := searchFrom(t, model, "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7)
				s.Molecules = 100
				batches := int64(-1) // decoded before the end
				s.OnProgress = func(search.Progress) error {
					batches = model.Batches.Load()
					return c.watch(cancel)
				}
				if c.score != nil {
					s.Goal.Objective = scoring(func(context.Context, []*chem.Molecule) ([]float64, error) {
						batches = model.Batches.Load()
						return nil, c.score()
					})
				}
				if _, err := run(s, ctx); !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if decoded := model.Batches.Load(); decoded != batches {
					t.Errorf("%d batches were decoded, %d of them before the end", decoded, batches)
				}
			})
		}
	}
}

var algorithms = map[string]func(search.Search, context.Context) ([]*search.Molecule, error){
	"guided": search.Search.Optimize, "unguided": search.Search.Around,
}

// If the context of an unguided search ends during scoring, the other molecules are scored in FinalContext, and none
// twice.
func TestAroundScoresInTheFinalContext(t *testing.T) {
	for name, before := range map[string]int{"none is scored": 0, "three are scored": 3} {
		t.Run(name, func(t *testing.T) {
			s := searchFrom(t, toy.New(), "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7)
			s.FinalContext = t.Context()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			scored := map[string]int{}
			s.Goal.Objective = scoring(func(during context.Context, molecules []*chem.Molecule) ([]float64, error) {
				scores := make([]float64, len(molecules))
				for i, m := range molecules {
					if during != s.FinalContext && i >= before {
						scores[i] = math.NaN()
						continue
					}
					scored[m.SMILES()]++
					scores[i] = m.Weight()
				}
				if during == s.FinalContext {
					return scores, nil
				}
				end()
				if before == 0 {
					return nil, ctx.Err()
				}
				return scores, ctx.Err()
			})
			reported := map[string]int{}
			s.OnScored = func(m *search.Molecule) { reported[m.SMILES]++ }
			found, err := s.Around(ctx)
			if !errors.Is(err, context.Canceled) || len(found) <= before {
				t.Errorf("%d molecules, %v", len(found), err)
			}
			for _, m := range found {
				if scored[m.SMILES] != 1 || reported[m.SMILES] != 1 {
					t.Errorf("%s: scored %d times, reported %d times", m.SMILES, scored[m.SMILES], reported[m.SMILES])
				}
			}
		})
	}
}

// An objective that fails is not called again for the same molecules.
func TestAFailedObjectiveIsNotCalledAgain(t *testing.T) {
	s := searchFrom(t, toy.New(), "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7)
	s.FinalContext = t.Context()
	calls := 0
	s.Goal.Objective = scoring(func(context.Context, []*chem.Molecule) ([]float64, error) {
		calls++
		return nil, errors.New("the objective failed")
	})
	if found, err := s.Around(t.Context()); err == nil || len(found) > 0 || calls != 1 {
		t.Errorf("%d molecules after %d calls, %v", len(found), calls, err)
	}
}

// A seed needs no score, and molecules without a score are no results.
func TestMoleculesWithoutAScore(t *testing.T) {
	s := searchFrom(t, toy.New(), "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7)
	s.Goal.MinSimilarity = 0
	s.Goal.Objective = scoring(func(_ context.Context, molecules []*chem.Molecule) ([]float64, error) {
		values := make([]float64, len(molecules))
		for i, m := range molecules {
			values[i] = m.Weight()
			if m.SMILES() == s.Seeds[0].SMILES || m.Weight() > 300 {
				values[i] = math.NaN()
			}
		}
		return values, nil
	})
	found, err := s.Optimize(t.Context())
	if err != nil || len(found) != 10 {
		t.Fatalf("%d molecules, %v", len(found), err)
	}
	for _, m := range found {
		if !(m.Score <= 300) {
			t.Errorf("%+v has no score", m)
		}
	}
}

// A search from several seeds keeps the best of them, and one without seeds samples its first parents. Both report
// every molecule with a score.
func TestOptimizeFromSeveralSeedsAndFromNone(t *testing.T) {
	for _, seeds := range []int{0, 1, 4} {
		s := searchFrom(t, toy.New(), "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7)
		for i := range seeds - 1 {
			s.Seeds = append(s.Seeds, searchFrom(t, toy.New(), toy.Molecule([4]int{i, 5, 4, 5}), 7).Seeds[0])
		}
		s.Seeds = s.Seeds[:seeds]
		s.KeepSeeds = true
		s.Goal.MinSimilarity = 0
		s.Iterations = 40
		reported := map[string]int{}
		s.OnScored = func(m *search.Molecule) { reported[m.SMILES]++ }
		found, err := s.Optimize(t.Context())
		if err != nil || len(found) != 10 {
			t.Fatalf("%d seeds: %d molecules, %v", seeds, len(found), err)
		}
		if best := highestScore(t); found[0].Score < 0.97*best {
			t.Errorf("%d seeds: best score %v of %v", seeds, found[0].Score, best)
		}
		for _, m := range found {
			if reported[m.SMILES] == 0 {
				t.Errorf("%d seeds: %s was not reported", seeds, m.SMILES)
			}
		}
		for _, seed := range s.Seeds {
			if reported[seed.SMILES] == 0 {
				t.Errorf("%d seeds: the seed %s was not reported", seeds, seed.SMILES)
			}
		}
	}
}

// highestScore returns the highest QED in the toy space.
func highestScore(t *testing.T) float64 {
	scores, err := openQED(t).Score(t.Context(), everything())
	if err != nil {
		t.Fatal(err)
	}
	return slices.Max(scores)
}
