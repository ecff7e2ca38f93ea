package search_test

import (
	"context"
	"slices"

	"retort/orchestrator/latent/search"
	"retort/orchestrator/latent/search/toy"
)

// stubborn is a model that writes the same text whatever it decodes.
type stubborn struct {
	*toy.Model
	text string
}

func (s *stubborn) Decode(_ context.Context, points []search.Point) ([]string, error) {
	return slices.Repeat([]string{s.text}, len(points)), nil
}
