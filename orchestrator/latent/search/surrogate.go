package search

import (
	"hash/fnv"
	"math"
	"math/bits"
	"slices"

	"retort/chem"
	"retort/chem/smiles"
)

const (
	// surrogateEvaluations is the fewest evaluations of a search that has a surrogate: a short one ends before it pays.
	surrogateEvaluations = 2000
	// surrogateSize is the most molecules that a surrogate learns from. The work of a prediction is in proportion to it,
	// that of a generation to its square, and so is the memory: 5 MB at most.
	surrogateSize = 1000
	// surrogateLeast is how many molecules it must know before it is asked.
	surrogateLeast = 100
	// surrogateNoise is the variance of the part of a score that the features say nothing about, where that of all
	// scores is 1.
	surrogateNoise = 0.05
	// surrogateSteps bounds the steps of conjugate gradients for one generation, which begin at the weights of the last.
	surrogateSteps = 30
	// surrogateAccuracy is the root mean square of the residual at which they end.
	surrogateAccuracy = 1e-3
)

// usesSurrogate reports whether a search has a surrogate: a long one without a constraint on similarity. Under such a
// constraint it has not been measured.
func (s *Search) usesSurrogate() bool {
	return s.Goal.MinSimilarity == 0 && s.Particles*s.Iterations >= surrogateEvaluations
}

// surrogate predicts the fitness of molecules from that of those evaluated before: a Gaussian process whose kernel is the
// Tanimoto similarity (Ralaivola et al., Neural Networks 18, 1093, 2005). A prediction costs no evaluation, so of
// several edits the most promising one is evaluated.
type surrogate struct {
	examples []example
	kernel   [][]float32 // between all examples
	weights  []float64   // of the examples in a prediction
	age      int         // of the youngest example: counts up
}

// example is a molecule that the surrogate learns from.
type example struct {
	features features
	fitness  float64
	age      int
}

// featureWords are those of the fingerprint and half as many for the tokens.
const featureWords = len(chem.Fingerprint{}) * 3 / 2

// features are a molecule as bits: its Morgan fingerprint, and for each token of its SMILES one bit for every time that it
// is there, so that the similarity of two is that of their counts as well.
type features struct {
	bits [featureWords]uint64
	set  int // how many bits are set
}

// featuresOf are those of a molecule with a canonical SMILES and a fingerprint.
func featuresOf(text string, fingerprint *chem.Fingerprint) (f features) {
	copy(f.bits[:], fingerprint[:])
	times := map[string]uint32{}
	for t := range smiles.Tokens(text) {
		if t.Kind == smiles.Close {
			continue
		}
		token := t.In(text)
		if t.Kind == smiles.Ring {
			token = "ring"
		}
		hash := fnv.New32a()
		hash.Write([]byte(token))
		bit := (hash.Sum32() + times[token]*0x9E3779B1) >> 7 % uint32(64*(len(f.bits)-len(fingerprint)))
		times[token]++
		f.bits[len(fingerprint)+int(bit/64)] |= 1 << (bit % 64)
	}
	for _, word := range f.bits {
		f.set += bits.OnesCount64(word)
	}
	return f
}

// similarity is the Tanimoto similarity of two.
func (f *features) similarity(g *features) float64 {
	both := 0
	for i, word := range f.bits {
		both += bits.OnesCount64(word & g.bits[i])
	}
	if either := f.set + g.set - both; either > 0 {
		return float64(both) / float64(either)
	}
	return 0
}

// learn adds an example. When there are too many, the oldest of the worse half goes.
func (s *surrogate) learn(f features, fitness float64) {
	s.age++
	one := example{f, fitness, s.age}
	at := len(s.examples)
	if at < surrogateSize {
		s.examples = append(s.examples, one)
		s.weights = append(s.weights, 0)
		for i := range s.kernel {
			s.kernel[i] = append(s.kernel[i], 0)
		}
		s.kernel = append(s.kernel, make([]float32, len(s.examples)))
	} else {
		at = s.leaving()
		s.examples[at] = one
		s.weights[at] = 0
	}
	for i := range s.examples {
		k := float32(s.examples[i].features.similarity(&one.features))
		s.kernel[i][at] = k
		s.kernel[at][i] = k
	}
}

// leaving is the oldest example of the worse half.
func (s *surrogate) leaving() int {
	all := make([]float64, len(s.examples))
	for i := range s.examples {
		all[i] = s.examples[i].fitness
	}
	slices.Sort(all)
	median := all[len(all)/2]
	oldest := -1
	for i := range s.examples {
		if s.examples[i].fitness <= median && (oldest < 0 || s.examples[i].age < s.examples[oldest].age) {
			oldest = i
		}
	}
	return oldest
}

// fit finds the weights: those with which the predictions of the examples are their standardised fitness, but for the
// noise.
func (s *surrogate) fit() {
	n := len(s.examples)
	mean := 0.0
	for i := range s.examples {
		mean += s.examples[i].fitness / float64(n)
	}
	deviation := 0.0
	for i := range s.examples {
		deviation += (s.examples[i].fitness - mean) * (s.examples[i].fitness - mean) / float64(n)
	}
	deviation = math.Sqrt(deviation)
	if !(deviation > 0) || math.IsInf(deviation, 0) { // nothing to tell apart, or numbers too large to
		clear(s.weights)
		return
	}
	residual := s.times(s.weights)
	for i := range residual {
		residual[i] = (s.examples[i].fitness-mean)/deviation - residual[i]
	}
	direction := slices.Clone(residual)
	square := dot(residual, residual)
	enough := surrogateAccuracy * surrogateAccuracy * float64(n)
	for range surrogateSteps {
		if square <= enough {
			break
		}
		image := s.times(direction)
		step := square / dot(direction, image)
		for i := range residual {
			s.weights[i] += step * direction[i]
			residual[i] -= step * image[i]
		}
		before := square
		square = dot(residual, residual)
		for i := range direction {
			direction[i] = residual[i] + square/before*direction[i]
		}
	}
}

// times is the product of the covariance of the examples and a vector.
func (s *surrogate) times(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, row := range s.kernel {
		sum := surrogateNoise * x[i]
		for k, v := range x {
			sum += float64(row[k]) * v
		}
		out[i] = sum
	}
	return out
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// ready reports whether there is a surrogate, and it has enough to learn from.
func (s *surrogate) ready() bool { return s != nil && len(s.examples) >= surrogateLeast }

// predict is the standardised fitness of a molecule.
func (s *surrogate) predict(f *features) (sum float64) {
	for i := range s.examples {
		sum += s.weights[i] * s.examples[i].features.similarity(f)
	}
	return sum
}
