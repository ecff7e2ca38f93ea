package latent

import (
	"context"

	"retort/orchestrator/latent/search"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
)

// createBatchers creates the batchers of the encoder and the decoder.
func (m *tritonModel) createBatchers(encoder, decoder *triton.Model, o batching.Options) {
	o.MaxRows = max(1, encoder.Config.MaxBatch)
	o.Replicas = func() int { return m.client.Replicas(encoder.Name) }
	length := func(row []int32) int { return len(row) }
	m.encodings = batching.New(length, func(ctx context.Context, rows [][]int32) ([][]float32, error) {
		return m.encode(ctx, rows, tensorHiddens, m.space.Size())
	}, o)
	if m.vectorSize > 0 {
		m.embeddings = batching.New(length, func(ctx context.Context, rows [][]int32) ([][]float32, error) {
			return m.encode(ctx, rows, tensorEmbedding, m.vectorSize)
		}, o)
	}
	o = m.decoderOptions(decoder, o)
	o.MaxTokens = o.MaxRows
	m.texts = batching.New(func(search.Point) int { return 1 }, m.decode, o)
}

// createBeamBatcher creates the batcher of the beam decoder. A row counts as one token per beam.
func (m *tritonModel) createBeamBatcher(beams *triton.Model, o batching.Options) {
	m.beamDecoder = beams.Name
	o = m.decoderOptions(beams, o)
	o.MaxTokens = max(maxBeamSize, o.MaxRows)
	m.beams = batching.New(func(row beamRow) int { return row.size }, m.searchBeams, o)
}

// decoderOptions returns the options for a decoder. Decoding is a loop over all tokens of a molecule, so a call takes
// long whatever its rows are. Calls are therefore bounded by rows only, and one call less is in flight on each replica,
// which lets the rows of many searches gather.
func (m *tritonModel) decoderOptions(decoder *triton.Model, o batching.Options) batching.Options {
	o.Concurrency = max(1, o.Concurrency-1, decoder.Config.Concurrency())
	o.MaxRows = max(1, decoder.Config.MaxBatch)
	o.Replicas = func() int { return m.client.Replicas(decoder.Name) }
	return o
}
