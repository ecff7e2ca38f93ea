package latent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
)

// radicals is a model without beams or tokens of radicals, whose likeliest text is a radical.
type radicals struct{ Model }

func (radicals) Tokens(smiles string) ([]int32, error) {
	if strings.Contains(smiles, "[CH]") {
		return nil, errors.New("the model does not know the token [CH]")
	}
	return []int32{1}, nil
}

func (radicals) Decode(_ context.Context, points []search.Point) ([]string, error) {
	texts := make([]string, len(points))
	for i, p := range points {
		texts[i] = "C[CH]C"
		if p.Temperature > 0 {
			texts[i] = "OCC"
		}
	}
	return texts, nil
}

func (radicals) Beams(context.Context, []search.Point, int) ([][]string, error) {
	return nil, fault.New(fault.Invalid, "no beam search")
}

// rare is a model whose texts are molecules only from the fifth beam on.
type rare struct{ radicals }

func (rare) Decode(_ context.Context, points []search.Point) ([]string, error) {
	return slices.Repeat([]string{"C("}, len(points)), nil
}

func (rare) Beams(_ context.Context, points []search.Point, size int) ([][]string, error) {
	beams := slices.Repeat([]string{"C("}, size)
	for i := 4; i < size; i++ {
		beams[i] = "OCC"
	}
	return slices.Repeat([][]string{beams}, len(points)), nil
}

// A point without a molecule among few beams is decoded with more.
func TestDecodeTriesMoreBeams(t *testing.T) {
	texts, err := decode(t.Context(), rare{}, []search.Point{{Hidden: []float32{1, 2}}})
	if err != nil || !slices.Equal(texts, []string{"CCO"}) {
		t.Error(texts, err)
	}
}

// A text that the model cannot encode is decoded again, since clients send decoded molecules back to /hidden.
func TestDecodedMoleculesCanBeEncoded(t *testing.T) {
	texts, err := decode(t.Context(), radicals{}, []search.Point{{Hidden: []float32{1, 2}}})
	if err != nil || !slices.Equal(texts, []string{"CCO"}) {
		t.Error(texts, err)
	}
}
