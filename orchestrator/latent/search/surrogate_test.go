package search

import (
	"math"
	"testing"

	"retort/chem"
)

// newSurrogate returns a surrogate with half of the mutations of some molecules as examples, and the features and
// values of the other half. The value of a molecule is its similarity to a target.
func newSurrogate(t *testing.T, size int) (s *surrogate, heldOut []features, values []float64) {
	t.Helper()
	target, err := chem.Parse("CC(=O)Nc1ccc(OCCN2CCOCC2)cc1")
	if err != nil {
		t.Fatal(err)
	}
	var editor chem.Editor
	defer editor.Close()
	s = &surrogate{size: 1000}
	for i, start := range []string{
		"CC(=O)Nc1ccccc1", "C1COCCN1CCO", "CCOc1ccccc1", "CNC(=O)c1ccc(F)cc1", "c1ccc(CN2CCCC2)cc1",
	} {
		parents := []chem.Parents{{First: start, Count: size, Seed: uint64(i)}}
		offspring, err := editor.Offspring(t.Context(), parents)
		if err != nil {
			t.Fatal(err)
		}
		for k, m := range offspring[0] {
			fingerprint := m.Fingerprint()
			f := featuresOf(m.SMILES(), &fingerprint)
			if value := chem.Similarity(m, target); k%2 == 0 {
				s.learn(f, 10*value-3)
			} else {
				heldOut = append(heldOut, f)
				values = append(values, value)
			}
		}
	}
	return s, heldOut, values
}

func TestASurrogatePredicts(t *testing.T) {
	s, heldOut, values := newSurrogate(t, 120)
	if !s.ready() {
		t.Fatalf("%d examples", len(s.examples))
	}
	s.fit()
	agreed := 0.0
	pairs := 0.0
	for i := range heldOut {
		for k := range i {
			if math.Abs(values[i]-values[k]) < 0.05 {
				continue
			}
			pairs++
			if (s.predict(&heldOut[i]) > s.predict(&heldOut[k])) == (values[i] > values[k]) {
				agreed++
			}
		}
	}
	if pairs < 1000 || agreed < 0.9*pairs {
		t.Errorf("of %v held-out pairs, %v are in the right order", pairs, agreed)
	}
}

// A full surrogate evicts the oldest of the worse examples and keeps the best.
func TestASurrogateEvictsExamples(t *testing.T) {
	const size = 500
	s := &surrogate{size: size}
	for i := range size + 200 {
		var f features
		f.bits[i%featureWords] = uint64(i) | 1
		f.ones = 1
		s.learn(f, float64(i%10))
	}
	if len(s.examples) != size || len(s.weights) != size || len(s.kernel) != size {
		t.Fatalf("%d examples", len(s.examples))
	}
	best := 0
	for _, e := range s.examples {
		if e.merit == 9 {
			best++
		}
		if e.merit < 5 && e.number <= 100 {
			t.Errorf("example %d of merit %v was not evicted", e.number, e.merit)
		}
	}
	if best != (size+200)/10 {
		t.Errorf("%d of the best examples are left", best)
	}
}

// With equal values, or values that overflow, a surrogate predicts the same for all molecules.
func TestASurrogateOfEqualOrHugeValues(t *testing.T) {
	for _, values := range [][]float64{{1, 1, 1}, {1e300, -1e300, 1e305}} {
		s := &surrogate{size: 10}
		for i, value := range values {
			s.learn(features{bits: [featureWords]uint64{uint64(i + 1)}, ones: 1}, value)
		}
		s.fit()
		if got := s.predict(&s.examples[0].features); got != 0 {
			t.Errorf("%v: %v", values, got)
		}
	}
}
