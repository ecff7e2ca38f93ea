package search

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// Space describes the distribution of the training molecules in the latent space. CMA-ES runs in whitened coordinates,
// with mean 0 and standard deviation 1 over those molecules, so that one step size suits all coordinates.
type Space struct {
	mean, sd []float64 // per coordinate
	radius   float64   // standard deviation of the noise at scaled radius 1
	// Length is the common L2 norm of all hidden states, or 0 if they have none.
	Length float64
}

// NewSpace returns a space with the mean and standard deviation of each coordinate over the training molecules, and the
// standard deviation of the noise at scaled radius 1. The slices are not empty and of one length. Standard deviations
// and radius are positive and finite.
func NewSpace(mean, sd []float64, radius float64) (*Space, error) {
	if len(mean) == 0 || len(mean) != len(sd) {
		return nil, fmt.Errorf("a latent space of %d means and %d standard deviations", len(mean), len(sd))
	}
	if !(radius > 0) || math.IsInf(radius, 0) {
		return nil, fmt.Errorf("the radius %v is not a positive number", radius)
	}
	for i, deviation := range sd {
		if !(deviation > 0) || math.IsInf(deviation, 0) {
			return nil, fmt.Errorf("the standard deviation of coordinate %d is %v, not a positive number", i, deviation)
		}
	}
	return &Space{mean: mean, sd: sd, radius: radius}, nil
}

// Size returns the number of coordinates.
func (s *Space) Size() int { return len(s.mean) }

// Whiten returns a hidden state in whitened coordinates.
func (s *Space) Whiten(hidden []float32) []float64 {
	x := make([]float64, len(hidden))
	for i, h := range hidden {
		x[i] = (float64(h) - s.mean[i]) / s.sd[i]
	}
	return x
}

// colour is the inverse of Whiten.
func (s *Space) colour(x []float64) []float32 {
	hidden := make([]float32, len(x))
	for i, v := range x {
		hidden[i] = float32(s.mean[i] + s.sd[i]*v)
	}
	return hidden
}

// drawNoise draws standard normal noise in size coordinates. Noise longer than √size is shortened to it, so that all
// points at a radius lie within one sphere.
func drawNoise(size int, random *rand.Rand) []float64 {
	noise := make([]float64, size)
	square := 0.0
	for i := range noise {
		noise[i] = random.NormFloat64()
		square += noise[i] * noise[i]
	}
	floats.Scale(min(1, math.Sqrt(float64(size)/square)), noise)
	return noise
}

// Near returns a hidden state plus standard normal noise, scaled to the standard deviation scaledRadius times the
// radius of the space.
func (s *Space) Near(hidden []float32, scaledRadius float64, noise []float64) []float32 {
	out := make([]float32, len(hidden))
	for i, h := range hidden {
		out[i] = h + float32(scaledRadius*s.radius*noise[i])
	}
	return out
}
