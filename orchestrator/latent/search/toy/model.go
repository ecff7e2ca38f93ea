package toy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"retort/orchestrator/latent/search"
)

// specialTokens is how many tokens at the start of Vocabulary are special.
const specialTokens = 4

// Model is a [search.Model] of the space, without a server.
type Model struct {
	space *search.Space
	// Decoded counts the points decoded so far and Batches their batches. Largest is the size of the largest batch.
	Decoded, Batches, Largest atomic.Int64
}

// New returns a model of the space.
func New() *Model {
	space, err := search.NewSpace(make([]float64, Size), slices.Repeat([]float64{1}, Size), 1)
	if err != nil {
		panic(err)
	}
	return &Model{space: space}
}

// Space has mean 0, standard deviation 1 and radius 1.
func (m *Model) Space() *search.Space { return m.space }

// Tokens cuts a SMILES into the longest tokens of the vocabulary.
func (m *Model) Tokens(smiles string) (ids []int32, err error) {
	for rest := smiles; rest != ""; {
		id := 0
		for i, token := range Vocabulary[specialTokens:] {
			if strings.HasPrefix(rest, token) && (id == 0 || len(token) > len(Vocabulary[id])) {
				id = i + specialTokens
			}
		}
		if id == 0 {
			return nil, fmt.Errorf("%q begins with no token", rest)
		}
		ids = append(ids, int32(id))
		rest = rest[len(Vocabulary[id]):]
	}
	return ids, nil
}

// TextTokens returns all ids but the special ones.
func (m *Model) TextTokens() (ids []int32) {
	for id := specialTokens; id < len(Vocabulary); id++ {
		ids = append(ids, int32(id))
	}
	return ids
}

// Encode returns the hidden states of texts.
func (m *Model) Encode(_ context.Context, rows [][]int32) ([][]float32, error) {
	hiddens := make([][]float32, len(rows))
	for i, row := range rows {
		var text strings.Builder
		for _, id := range row {
			text.WriteString(Vocabulary[id])
		}
		hiddens[i] = Encode(text.String())
	}
	return hiddens, nil
}

// Decode returns the texts of points.
func (m *Model) Decode(ctx context.Context, points []search.Point) ([]string, error) {
	if len(points) > 0 {
		m.Batches.Add(1)
		m.Decoded.Add(int64(len(points)))
		m.Largest.Store(max(m.Largest.Load(), int64(len(points))))
	}
	texts := make([]string, len(points))
	for i, p := range points {
		texts[i] = Decode(p.Hidden, p.Temperature, p.Seed)
	}
	return texts, ctx.Err()
}

// Beams returns the texts of beam searches.
func (m *Model) Beams(ctx context.Context, points []search.Point, size int) ([][]string, error) {
	beams := make([][]string, len(points))
	for i, p := range points {
		beams[i] = Beams(p.Hidden, size)
	}
	return beams, ctx.Err()
}
