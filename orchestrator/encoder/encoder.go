// Package encoder runs BERT-like encoders on Triton, which return a vector per text (embedding) or a logit per pair of
// texts (ranking). The rows of all requests share batches.
//
// Terms:
//   - row: the tokens of one text or of one pair, special tokens included.
//   - chunk: a part of a text that is too long for one row. Chunks overlap.
package encoder

import (
	"context"
	"sync"

	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers"
)

// Input tensors of every encoder, each INT64 [rows, longest row]: model_repository/README.md. Token types are sent to
// models that declare them.
const (
	inputIDs   = "input_ids"
	inputMask  = "attention_mask"
	inputTypes = "token_type_ids"
)

// leastMaxTokens is the lower bound of max_model_len: the three special tokens of a pair and one token of a text.
const leastMaxTokens = 4

// LightRows is the most rows of a request that is not heavy (gateway.Heavy).
const LightRows = 64

// RowBytes is about the size in bytes of a text that fills a row.
const RowBytes = 2 << 10

// Encoder is a model with its tokenizer and the facts of its entry in the model repository.
type Encoder struct {
	ID, OwnedBy string
	Created     int64 // Unix time in seconds
	MaxTokens   int   // of a row
	Width       int   // numbers per row of the output
	Tokenizer   *tokenizers.Tokenizer

	client  *triton.Client
	name    string // of the entry
	output  string // the tensor with the result
	types   bool   // the model declares inputTypes
	batcher *batching.Batcher[*tokenizers.Encoding, []float32]
}

// Open reads an entry of the model repository: the parameters owned_by, created, max_model_len, padding_cost and
// tokenizer, and the named output. options bound the batches. The caller must check entry.Done, which returns the
// problems of the entry, before it uses the encoder.
func Open(client *triton.Client, entry *triton.EntryReader, output string, options batching.Options) *Encoder {
	e := &Encoder{
		ID:        entry.PublicID(),
		OwnedBy:   entry.OwnedBy(),
		Created:   entry.Created(),
		MaxTokens: entry.Whole("max_model_len", 512, leastMaxTokens),
		Tokenizer: triton.ReadFile(entry, "tokenizer", "tokenizer.json", tokenizers.Load),
		client:    client,
		name:      entry.Name,
		output:    output,
	}
	var err error
	e.Width, err = entry.OutputSize(output)
	entry.Check(err)
	_, e.types = entry.Config.Input(inputTypes)
	if entry.Config.MaxBatch > 0 {
		options.MaxRows = entry.Config.MaxBatch
	}
	options.PaddingCost = entry.Number("padding_cost", 1, 0.01, 1)
	options.Instances = entry.Config.Concurrency()
	options.Replicas = func() int { return client.Replicas(entry.Name) }
	e.batcher = batching.New(func(row *tokenizers.Encoding) int { return len(row.IDs) }, e.infer, options)
	return e
}

// Run returns Width numbers for each row, in order. The result of a row does not depend on the other rows.
func (e *Encoder) Run(ctx context.Context, rows []*tokenizers.Encoding) ([][]float32, error) {
	lengths := make([]int, len(rows))
	for i, row := range rows {
		lengths[i] = len(row.IDs)
	}
	telemetry.FromContext(ctx).AddRowsOfTokens(lengths)
	return e.batcher.Do(ctx, rows)
}

// batches has input tensors for reuse.
var batches = sync.Pool{New: func() any { return new(tokenizers.Batch) }}

// infer runs one batch: rows padded to the longest.
func (e *Encoder) infer(ctx context.Context, rows []*tokenizers.Encoding) ([][]float32, error) {
	batch := batches.Get().(*tokenizers.Batch)
	defer batches.Put(batch)
	batch.Fill(rows, e.Tokenizer.PadID())
	request := &triton.Request{Model: e.name, Outputs: []string{e.output}, Inputs: []triton.Tensor{
		triton.Int64s(inputIDs, batch.Shape(), batch.InputIDs),
		triton.Int64s(inputMask, batch.Shape(), batch.AttentionMask),
	}}
	if e.types {
		request.Inputs = append(request.Inputs, triton.Int64s(inputTypes, batch.Shape(), batch.TokenTypeIDs))
	}
	response, err := e.client.Infer(ctx, request)
	if err != nil {
		return nil, err
	}
	return response.FiniteRows(e.output, len(rows), e.Width)
}
