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
	// Length is that of the hidden states of all molecules, of a model whose molecules lie on a sphere around zero; 0 of
	// one whose do not.
	Length float64
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

// noise draws a direction and a length: standard normal noise in so many coordinates. Noise that is longer than the root
// of their number is shortened to it, so that all points at a radius lie within one sphere.
func noise(size int, random *rand.Rand) []float64 {
	noise := make([]float64, size)
	square := 0.0
	for i := range noise {
		noise[i] = random.NormFloat64()
		square += noise[i] * noise[i]
	}
	shorter := min(1, math.Sqrt(float64(len(noise))/square))
	for i := range noise {
		noise[i] *= shorter
	}
	return noise
}

// near is the hidden state at the end of noise that begins at another: in every coordinate scaledRadius times the radius
// of the space is the standard deviation.
func (s *Space) near(hidden []float32, scaledRadius float64, noise []float64) []float32 {
	out := make([]float32, len(hidden))
	for i, h := range hidden {
		out[i] = h + float32(scaledRadius*s.radius*noise[i])
	}
	return out
}
