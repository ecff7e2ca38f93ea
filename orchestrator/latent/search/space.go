package search

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Space tells how the training molecules lie in the latent space. CMA-ES runs in whitened coordinates, in which each
// coordinate has mean 0 and standard deviation 1 over those molecules, so that one step size suits all.
type Space struct {
	mean, sd []float64 // per coordinate
	radius   float64   // standard deviation of the noise that scaled radius 1 stands for
}

// NewSpace returns a space from the mean and standard deviation of each coordinate over the training molecules, and the
// standard deviation of the noise that scaled radius 1 stands for.
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

// Size is the number of coordinates.
func (s *Space) Size() int { return len(s.mean) }

// whiten gives a hidden state in whitened coordinates.
func (s *Space) whiten(hidden []float32) []float64 {
	x := make([]float64, len(hidden))
	for i, h := range hidden {
		x[i] = (float64(h) - s.mean[i]) / s.sd[i]
	}
	return x
}

// colour is the inverse of whiten.
func (s *Space) colour(x []float64) []float32 {
	hidden := make([]float32, len(x))
	for i, v := range x {
		hidden[i] = float32(s.mean[i] + s.sd[i]*v)
	}
	return hidden
}

// near draws a hidden state around another: normal noise with a standard deviation of scaledRadius times the radius of
// the space in every coordinate. Noise that is longer than that deviation times the root of the number of coordinates
// is shortened to it, so that all draws lie within one sphere.
func (s *Space) near(hidden []float32, scaledRadius float64, random *rand.Rand) []float32 {
	noise := make([]float64, len(hidden))
	square := 0.0
	for i := range noise {
		noise[i] = random.NormFloat64()
		square += noise[i] * noise[i]
	}
	factor := scaledRadius * s.radius * min(1, math.Sqrt(float64(len(noise))/square))
	out := make([]float32, len(hidden))
	for i, h := range hidden {
		out[i] = h + float32(factor*noise[i])
	}
	return out
}
