package embedding

import (
	"context"
	"sync"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// Tensor names of an embedding entry: model_repository/README.md.
const (
	inputIDs     = "input_ids"
	inputMask    = "attention_mask"
	inputTypes   = "token_type_ids"
	outputVector = "sentence_embedding"
)

// tritonModel is a Model on Triton: the rows of all requests share calls.
type tritonModel struct {
	client    *triton.Client
	name      string
	size      int
	pad       int32
	withTypes bool
	batcher   *triton.Batcher[*tokenizers.Encoding, []float32]
}

func newTritonModel(client *triton.Client, entry *triton.Model, e *Encoder, batching triton.BatchOptions) *tritonModel {
	m := &tritonModel{client: client, name: entry.Name, size: e.Dimensions, pad: e.tokenizer.PadID()}
	_, m.withTypes = entry.Config.Input(inputTypes)
	if entry.Config.MaxBatch > 0 {
		batching.MaxRows = entry.Config.MaxBatch
	}
	m.batcher = triton.NewBatcher(func(row *tokenizers.Encoding) int { return len(row.IDs) }, m.infer, batching)
	return m
}

// Embed waits for the vectors of all rows.
func (m *tritonModel) Embed(ctx context.Context, rows []*tokenizers.Encoding) ([][]float32, error) {
	return m.batcher.Do(ctx, rows)
}

// batches are the padded tensors of calls, used again.
var batches = sync.Pool{New: func() any { return new(tokenizers.Batch) }}

// infer is one call: rows of similar length, padded to the longest.
func (m *tritonModel) infer(ctx context.Context, rows []*tokenizers.Encoding) ([][]float32, error) {
	batch := batches.Get().(*tokenizers.Batch)
	defer batches.Put(batch)
	batch.Fill(rows, m.pad)
	request := &triton.Request{Model: m.name, Outputs: []string{outputVector}, Inputs: []triton.Tensor{
		triton.Int64s(inputIDs, batch.Shape(), batch.InputIDs),
		triton.Int64s(inputMask, batch.Shape(), batch.AttentionMask),
	}}
	if m.withTypes {
		request.Inputs = append(request.Inputs, triton.Int64s(inputTypes, batch.Shape(), batch.TokenTypeIDs))
	}
	response, err := m.client.Infer(ctx, request)
	if err != nil {
		return nil, err
	}
	output, err := response.Output(outputVector)
	if err != nil {
		return nil, err
	}
	values, err := output.Float32s()
	if err != nil {
		return nil, err
	}
	if len(values) != len(rows)*m.size {
		return nil, fault.New(fault.Internal, "model %s answered %d numbers for %d rows of %d", m.name, len(values), len(rows), m.size)
	}
	vectors := make([][]float32, len(rows))
	for i := range vectors {
		vectors[i] = values[i*m.size : (i+1)*m.size : (i+1)*m.size]
	}
	return vectors, nil
}
