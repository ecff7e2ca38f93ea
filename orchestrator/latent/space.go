package latent

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
)

// Space is how the training molecules lie in the latent space. A search runs
// in whitened coordinates, in which every one of them has mean 0 and standard
// deviation 1 over those molecules, so that one step size suits all.
type Space struct {
	mean, sd []float64
	radius   float64
}

// Size is the number of coordinates.
func (s *Space) Size() int { return len(s.mean) }

// loadSpace reads the statistics beside a model: {"mean": [...], "sd": [...]}
// of every coordinate, and optionally "radius", the standard deviation of the
// noise that scaled_radius 1 stands for. Default 1, the largest in training.
func loadSpace(file string, size int) (*Space, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	read := struct {
		Mean, SD []float64
		Radius   float64
	}{Radius: 1}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(read.Mean) != size || len(read.SD) != size || !(read.Radius > 0) {
		return nil, fmt.Errorf("%s: mean and sd of %d coordinates are needed, and a positive radius; there are %d and %d, and %v",
			file, size, len(read.Mean), len(read.SD), read.Radius)
	}
	for i, sd := range read.SD {
		if !(sd > 0) || math.IsInf(sd, 0) {
			return nil, fmt.Errorf("%s: sd of coordinate %d is %v, not a positive number", file, i, sd)
		}
	}
	return &Space{mean: read.Mean, sd: read.SD, radius: read.Radius}, nil
}

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

// near draws a hidden state within a scaled radius of another: normal noise
// with that standard deviation, as in training, pulled in where it is longer
// than radius times the root of the number of coordinates.
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
