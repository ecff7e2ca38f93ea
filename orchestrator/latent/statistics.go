package latent

import (
	"encoding/json"
	"fmt"
	"os"

	"retort/orchestrator/latent/search"
)

// loadSpace reads the statistics file of a model, a JSON object:
//
//   - mean, sd: one number for each of size coordinates, over the training molecules
//   - radius: the standard deviation of the noise at scaled_radius 1 (default 1)
//   - length: see [search.Space] (default 0)
func loadSpace(file string, size int) (*search.Space, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	statistics := struct {
		Mean, SD []float64
		Radius   float64
		Length   float64
	}{Radius: 1}
	if err := json.Unmarshal(data, &statistics); err != nil {
		return nil, err
	}
	if len(statistics.Mean) != size {
		return nil, fmt.Errorf("the hidden state has %d coordinates, the statistics %d", size, len(statistics.Mean))
	}
	if !(statistics.Length >= 0) {
		return nil, fmt.Errorf("the length %v of hidden states is negative or not a number", statistics.Length)
	}
	space, err := search.NewSpace(statistics.Mean, statistics.SD, statistics.Radius)
	if err != nil {
		return nil, err
	}
	space.Length = statistics.Length
	return space, nil
}
