package search

import (
	"hash/fnv"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/floats"

	"retort/chem"
	"retort/chem/smiles"
)

const (
	// minExamples is the number of examples from which a surrogate predicts: fewer than the evaluations of the first
	// iteration at the API's default, so that it chooses from the second iteration on.
	minExamples = 20
	// noiseVariance is the variance of the part of the merit that the features do not explain; the merit has variance
	// 1.
	noiseVariance = 0.05
	// maxFitSteps bounds the steps of conjugate gradients in one generation. They start at the previous weights.
	maxFitSteps = 30
	// fitTolerance is the root mean square of the residual at which they end.
	fitTolerance = 1e-3
)

// surrogate predicts the merit of molecules from the molecules evaluated so far. It is a Gaussian process with the
// Tanimoto similarity as its kernel (Ralaivola et al., Neural Networks 18, 1093, 2005). A prediction costs no
// evaluation, so only the most promising of several edits is evaluated. The surrogate does not learn the similarity to
// the seeds: it is known of every edit, and one below the least similarity is not evaluated.
type surrogate struct {
	size     int // examples at most
	examples []example
	kernel   [][]float32 // between all examples
	weights  []float64   // of the examples in a prediction
	learned  int         // number of examples so far, evicted ones included
}

// example is a molecule that the surrogate learns from.
type example struct {
	features features
	merit    float64
	number   int // in the order of learning, from 1
}

// featureWords is the number of words of the fingerprint, and half as many for the tokens.
const featureWords = len(chem.Fingerprint{}) * 3 / 2

// features describe a molecule by bits: its Morgan fingerprint, and one bit for each occurrence of each token of its
// SMILES, so that similarity compares the counts of tokens too.
type features struct {
	bits [featureWords]uint64
	ones int // number of bits set
}

// featuresOf returns the features of a molecule from its canonical SMILES and its fingerprint.
func featuresOf(text string, fingerprint *chem.Fingerprint) (f features) {
	copy(f.bits[:], fingerprint[:])
	occurrences := map[string]uint32{}
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
		bit := (hash.Sum32() + occurrences[token]*0x9E3779B1) >> 7 % uint32(64*(len(f.bits)-len(fingerprint)))
		occurrences[token]++
		f.bits[len(fingerprint)+int(bit/64)] |= 1 << (bit % 64)
	}
	for _, word := range f.bits {
		f.ones += bits.OnesCount64(word)
	}
	return f
}

// similarity returns the Tanimoto similarity of two molecules' features.
func (f *features) similarity(g *features) float64 {
	both := 0
	for i, word := range f.bits {
		both += bits.OnesCount64(word & g.bits[i])
	}
	if either := f.ones + g.ones - both; either > 0 {
		return float64(both) / float64(either)
	}
	return 0
}

// learn adds an example. If there is no room, it replaces the oldest example of the worse half.
func (s *surrogate) learn(f features, merit float64) {
	s.learned++
	added := example{f, merit, s.learned}
	at := len(s.examples)
	if at < s.size {
		s.examples = append(s.examples, added)
		s.weights = append(s.weights, 0)
		for i := range s.kernel {
			s.kernel[i] = append(s.kernel[i], 0)
		}
		s.kernel = append(s.kernel, make([]float32, len(s.examples)))
	} else {
		at = s.evictable()
		s.examples[at] = added
		s.weights[at] = 0
	}
	for i := range s.examples {
		k := float32(s.examples[i].features.similarity(&added.features))
		s.kernel[i][at] = k
		s.kernel[at][i] = k
	}
}

// evictable returns the index of the oldest example of the worse half.
func (s *surrogate) evictable() int {
	all := make([]float64, len(s.examples))
	for i := range s.examples {
		all[i] = s.examples[i].merit
	}
	slices.Sort(all)
	median := all[len(all)/2]
	oldest := -1
	for i := range s.examples {
		if s.examples[i].merit <= median && (oldest < 0 || s.examples[i].number < s.examples[oldest].number) {
			oldest = i
		}
	}
	return oldest
}

// fit computes the weights with which the predictions of the examples are their standardised merit, up to the noise.
func (s *surrogate) fit() {
	targets := s.standardised()
	if targets == nil {
		clear(s.weights)
		return
	}
	s.solve(targets)
}

// standardised returns the merits of the examples with mean 0 and variance 1, nil if it is equal for all or overflows.
func (s *surrogate) standardised() []float64 {
	n := len(s.examples)
	mean := 0.0
	for i := range s.examples {
		mean += s.examples[i].merit / float64(n)
	}
	deviation := 0.0
	for i := range s.examples {
		deviation += (s.examples[i].merit - mean) * (s.examples[i].merit - mean) / float64(n)
	}
	deviation = math.Sqrt(deviation)
	if !(deviation > 0) || math.IsInf(deviation, 0) {
		return nil
	}
	targets := make([]float64, n)
	for i := range targets {
		targets[i] = (s.examples[i].merit - mean) / deviation
	}
	return targets
}

// solve improves the weights by conjugate gradients until the covariance matrix times the weights is the targets.
func (s *surrogate) solve(targets []float64) {
	residual := s.multiply(s.weights)
	for i := range residual {
		residual[i] = targets[i] - residual[i]
	}
	direction := slices.Clone(residual)
	square := dot(residual, residual)
	enough := fitTolerance * fitTolerance * float64(len(targets))
	for range maxFitSteps {
		if square <= enough {
			break
		}
		image := s.multiply(direction)
		step := square / dot(direction, image)
		floats.AddScaled(s.weights, step, direction)
		floats.AddScaled(residual, -step, image)
		before := square
		square = dot(residual, residual)
		for i := range direction {
			direction[i] = residual[i] + square/before*direction[i]
		}
	}
}

// multiply returns the product of the covariance matrix of the examples and a vector. It computes four rows at a time,
// because a processor can add to four sums in the time of one.
func (s *surrogate) multiply(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = noiseVariance * v
	}
	first := 0
	for ; first+4 <= len(x); first += 4 {
		a := s.kernel[first][:len(x)]
		b := s.kernel[first+1][:len(x)]
		c := s.kernel[first+2][:len(x)]
		d := s.kernel[first+3][:len(x)]
		sums := (*[4]float64)(out[first:])
		sumA, sumB, sumC, sumD := sums[0], sums[1], sums[2], sums[3]
		for k, v := range x {
			sumA += float64(a[k]) * v
			sumB += float64(b[k]) * v
			sumC += float64(c[k]) * v
			sumD += float64(d[k]) * v
		}
		*sums = [4]float64{sumA, sumB, sumC, sumD}
	}
	for i := first; i < len(x); i++ {
		for k, v := range x {
			out[i] += float64(s.kernel[i][k]) * v
		}
	}
	return out
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// ready reports whether there are enough examples.
func (s *surrogate) ready() bool { return len(s.examples) >= minExamples }

// predict returns the standardised merit of a molecule.
func (s *surrogate) predict(f *features) (sum float64) {
	for i := range s.examples {
		sum += s.weights[i] * s.examples[i].features.similarity(f)
	}
	return sum
}
