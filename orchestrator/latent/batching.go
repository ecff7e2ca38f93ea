package latent

import (
	"context"

	"retort/orchestrator/latent/search"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
)

// batch creates the batchers of the encoder and the decoder.
func (n *network) batch(encoder, decoder *triton.Model, o batching.Options) {
	o.MaxRows = max(1, encoder.Config.MaxBatch)
	length := func(row []int32) int { return len(row) }
	n.encoding = batching.New(length, func(ctx context.Context, rows [][]int32) ([][]float32, error) {
		return n.encode(ctx, rows, tensorHiddens, n.space.Size())
	}, o)
	if n.vectorSize > 0 {
		n.embedding = batching.New(length, func(ctx context.Context, rows [][]int32) ([][]float32, error) {
			return n.encode(ctx, rows, tensorEmbedding, n.vectorSize)
		}, o)
	}
	o = decoderOptions(decoder, o)
	o.MaxTokens = o.MaxRows
	n.decoding = batching.New(func(search.Point) int { return 1 }, n.decode, o)
}

// batchBeams creates the batcher of the beam decoder. A row counts as one token per beam.
func (n *network) batchBeams(beams *triton.Model, o batching.Options) {
	n.beamDecoder = beams.Name
	o = decoderOptions(beams, o)
	o.MaxTokens = max(maxBeamSize, o.MaxRows)
	n.beams = batching.New(func(row beamRow) int { return row.size }, n.search, o)
}

// decoderOptions returns the options for a decoder. Decoding is a loop over all tokens of a molecule, so a call takes
// long whatever its rows are. Calls are therefore bounded by rows only, and one call less is in flight, which lets the
// rows of many searches gather.
func decoderOptions(decoder *triton.Model, o batching.Options) batching.Options {
	o.Concurrency = max(1, o.Concurrency-1, decoder.Config.Concurrency())
	o.MaxRows = max(1, decoder.Config.MaxBatch)
	return o
}
