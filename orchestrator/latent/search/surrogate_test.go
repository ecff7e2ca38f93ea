package search

import (
	"math"
	"testing"

	"retort/chem"
)

// known is a surrogate that learnt from variants of molecules how similar they are to a target, and variants that it does
// not know, with their values.
func known(t *testing.T, size int) (s *surrogate, unknown []features, values []float64) {
	t.Helper()
	target, err := chem.Parse("CC(=O)Nc1ccc(OCCN2CCOCC2)cc1")
	if err != nil {
		t.Fatal(err)
	}
	s = &surrogate{}
	for i, start := range []string{"CC(=O)Nc1ccccc1", "C1COCCN1CCO", "CCOc1ccccc1", "CNC(=O)c1ccc(F)cc1", "c1ccc(CN2CCCC2)cc1"} {
		made, err := chem.Mutations(start, size, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		for k, text := range made {
			m, err := chem.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			fingerprint := m.Fingerprint()
			f := featuresOf(text, &fingerprint)
			if value := chem.Similarity(m, target); k%2 == 0 {
				s.learn(f, 10*value-3)
			} else {
				unknown = append(unknown, f)
				values = append(values, value)
			}
		}
	}
	return s, unknown, values
}

func TestASurrogatePredicts(t *testing.T) {
	s, unknown, values := known(t, 120)
	if !s.ready() {
		t.Fatalf("%d examples", len(s.examples))
	}
	s.fit()
	agreed := 0.0
	pairs := 0.0
	for i := range unknown {
		for k := range i {
			if math.Abs(values[i]-values[k]) < 0.05 {
				continue
			}
			pairs++
			if (s.predict(&unknown[i]) > s.predict(&unknown[k])) == (values[i] > values[k]) {
				agreed++
			}
		}
	}
	if pairs < 1000 || agreed < 0.9*pairs {
		t.Errorf("of %v pairs of molecules that it does not know it has %v in the right order", pairs, agreed)
	}
}

// It forgets the worse ones that it learnt first, and keeps the best.
func TestASurrogateForgets(t *testing.T) {
	s := &surrogate{}
	for i := range surrogateSize + 200 {
		var f features
		f.bits[i%featureWords] = uint64(i) | 1
		f.set = 1
		s.learn(f, float64(i%10))
	}
	if len(s.examples) != surrogateSize || len(s.weights) != surrogateSize || len(s.kernel) != surrogateSize {
		t.Fatalf("%d examples", len(s.examples))
	}
	best := 0
	for _, one := range s.examples {
		if one.fitness == 9 {
			best++
		}
		if one.fitness < 5 && one.age <= 100 {
			t.Errorf("the example %d of fitness %v is still there", one.age, one.fitness)
		}
	}
	if best != (surrogateSize+200)/10 {
		t.Errorf("%d of the best are there", best)
	}
}

// Values that are all the same, or too large, are no reason to prefer a molecule or to stop.
func TestASurrogateOfOddValues(t *testing.T) {
	for _, values := range [][]float64{{1, 1, 1}, {1e300, -1e300, 1e305}} {
		s := &surrogate{}
		for i, value := range values {
			s.learn(features{bits: [featureWords]uint64{uint64(i + 1)}, set: 1}, value)
		}
		s.fit()
		if got := s.predict(&s.examples[0].features); got != 0 {
			t.Errorf("%v: %v", values, got)
		}
	}
}

func TestWhichSearchesHaveASurrogate(t *testing.T) {
	for _, c := range []struct {
		particles, iterations int
		similarity            float64
		want                  bool
	}{{30, 10, 0, false}, {100, 20, 0, true}, {100, 20, 0.4, false}} {
		s := Search{Particles: c.particles, Iterations: c.iterations, Goal: Goal{MinSimilarity: c.similarity}}
		if s.usesSurrogate() != c.want {
			t.Errorf("%+v: %v", c, !c.want)
		}
	}
}
