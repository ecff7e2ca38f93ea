package search_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"retort/chem"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/latent/search/toy"
)

func TestAroundSortsByScore(t *testing.T) {
	s := searchFrom(t, toy.New(), "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7)
	s.ScaledRadius, s.Molecules = 0.5, 20
	rounds := 0
	s.OnProgress = func(p search.Progress) error {
		if rounds++; p.Iteration != rounds {
			t.Errorf("round %d is reported as %d", rounds, p.Iteration)
		}
		return nil
	}
	found, err := s.Around(t.Context())
	if err != nil || len(found) != 20 {
		t.Fatalf("%d molecules, %v", len(found), err)
	}
	byScore := func(a, b *search.Molecule) int { return cmp.Compare(b.Score, a.Score) }
	if !slices.IsSortedFunc(found, byScore) || rounds == 0 {
		t.Errorf("after %d rounds, the results are not sorted by score", rounds)
	}
}

// Around many seeds, the points are decoded in batches, and the result of a seed does not depend on the others.
func TestSamplingAroundManySeeds(t *testing.T) {
	model := toy.New()
	one := searchFrom(t, model, "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7).Seeds[0]
	draw := func(count int) ([][]string, error) {
		s := search.Sampling{Model: model, Molecules: 10, ScaledRadius: 0.1, BeamSize: 1}
		for range count {
			s.Seeds = append(s.Seeds, one)
			s.Random = append(s.Random, rand.New(rand.NewPCG(uint64(len(s.Seeds)), 2)))
		}
		return s.Draw(t.Context())
	}
	many, err := draw(20)
	if err != nil || len(many) != 20 {
		t.Fatal(len(many), err)
	}
	if largest := model.Largest.Load(); largest > 4096 || model.Decoded.Load() < 20*10 {
		t.Errorf("%d points were decoded, up to %d of them at once", model.Decoded.Load(), largest)
	}
	few, err := draw(2)
	if err != nil || !reflect.DeepEqual(few, many[:2]) {
		t.Errorf("two of the seeds alone: %v, %v; among the others: %v", few, err, many[:2])
	}
	for _, list := range many {
		if len(list) != 10 {
			t.Errorf("%d molecules", len(list))
		}
	}
}

func sampling(model search.Model, seed search.Seed, molecules int, radius float64) search.Sampling {
	return search.Sampling{
		Model:        model,
		Seeds:        []search.Seed{seed},
		Random:       []*rand.Rand{rand.New(rand.NewPCG(1, 2))},
		Molecules:    molecules,
		BeamSize:     1,
		ScaledRadius: radius,
	}
}

// If the decoder writes nothing new, edits of the seed fill what is missing. If the seed has no edits, it is repeated.
func TestSamplingFillsTheShortage(t *testing.T) {
	model := &constant{Model: toy.New()}
	seed := searchFrom(t, model, "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 7).Seeds[0]
	draw := func(seed search.Seed, count int) []string {
		s := sampling(model, seed, count, 0.1)
		found, err := s.Draw(t.Context())
		if err != nil || len(found[0]) != count {
			t.Fatalf("%v, %v", found, err)
		}
		return found[0]
	}
	for _, text := range []string{toy.Broken, "OCC", seed.SMILES} {
		model.text = text
		seen := map[string]bool{seed.SMILES: true}
		for _, smiles := range draw(seed, 20) {
			if m, err := chem.Parse(smiles); err != nil || m.SMILES() != smiles || seen[smiles] {
				t.Errorf("%s: %s is the seed, a duplicate or not a molecule: %v", text, smiles, err)
			}
			seen[smiles] = true
		}
	}
	ion := seed
	ion.SMILES = "[O-]"
	model.text = toy.Broken
	if found := draw(ion, 2); !slices.Equal(found, []string{"[O-]", "[O-]"}) {
		t.Errorf("an ion without neighbours gives %v", found)
	}
}

func TestALargerRadiusMeansLessSimilarity(t *testing.T) {
	model := toy.New()
	seed := searchFrom(t, model, toy.Molecule([4]int{3, 1, 4, 4}), 7).Seeds[0]
	last := 1.0
	for _, radius := range []float64{0.1, 0.7, 1.4, 2} {
		s := sampling(model, seed, 20, radius)
		found, err := s.Draw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mean := 0.0
		for _, smiles := range found[0] {
			m, err := chem.Parse(smiles)
			if err != nil {
				t.Fatal(err)
			}
			fingerprint := m.Fingerprint()
			mean += fingerprint.Tanimoto(&seed.Fingerprint) / 20
		}
		if mean >= last {
			t.Errorf("radius %v: mean similarity %v, at the smaller radius %v", radius, mean, last)
		}
		last = mean
	}
}

func TestNewSpaceRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		mean, sd []float64
		radius   float64
	}{
		"no coordinates":      {nil, nil, 1},
		"different sizes":     {[]float64{1, 2}, []float64{1}, 1},
		"deviation 0":         {[]float64{1, 2}, []float64{1, 0}, 1},
		"deviation NaN":       {[]float64{1, 2}, []float64{1, math.NaN()}, 1},
		"deviation infinite":  {[]float64{1}, []float64{math.Inf(1)}, 1},
		"radius 0":            {[]float64{1}, []float64{1}, 0},
		"radius not a number": {[]float64{1}, []float64{1}, math.NaN()},
		"radius infinite":     {[]float64{1}, []float64{1}, math.Inf(1)},
	} {
		if _, err := search.NewSpace(c.mean, c.sd, c.radius); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
