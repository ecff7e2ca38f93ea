package search_test

import (
	"context"
	"slices"
	"testing"

	"retort/orchestrator/latent/search"
	"retort/orchestrator/latent/search/toy"
)

// wide is the toy space with 512 coordinates, like the real model.
type wide struct {
	*toy.Model
	space *search.Space
}

func (w wide) Space() *search.Space { return w.space }

func (w wide) Encode(ctx context.Context, rows [][]int32) ([][]float32, error) {
	hiddens, err := w.Model.Encode(ctx, rows)
	for i, h := range hiddens {
		hiddens[i] = append(h, make([]float32, w.space.Size()-len(h))...)
	}
	return hiddens, err
}

// BenchmarkSearch measures a search without the time of the model: chemistry and CMA-ES, in 50 generations of hidden
// states of 512 numbers. ns/molecule is per evaluation. The space has few distinct molecules, so each generation
// forgets those that it knows.
func BenchmarkSearch(b *testing.B) {
	const size = 512
	space, err := search.NewSpace(make([]float64, size), slices.Repeat([]float64{1}, size), 1)
	if err != nil {
		b.Fatal(err)
	}
	model := wide{toy.New(), space}
	for b.Loop() {
		s := searchFrom(b, model, "Cc1ccc(C)c(-c2ccc(C)cc2)c1", 1)
		s.Iterations, s.Goal.MinSimilarity = 50, 0.4
		if err := s.OptimizeUncached(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*50*30), "ns/molecule")
}
