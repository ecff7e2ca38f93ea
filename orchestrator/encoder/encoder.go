// Package encoder runs BERT-like encoders on Triton for the APIs that turn
// rows of tokens into rows of numbers: a vector per text (embedding), a logit
// per pair (ranking). The rows of all requests share calls.
package encoder

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// Input tensors of every encoder: model_repository/README.md. Token types are
// sent to models that declare them.
const (
	inputIDs   = "input_ids"
	inputMask  = "attention_mask"
	inputTypes = "token_type_ids"
)

// Encoder is one model with its tokenizer and what its entry in the model
// repository says of it.
type Encoder struct {
	ID, OwnedBy string
	Created     int64 // Unix time in seconds
	MaxTokens   int   // of a row, special tokens included
	Width       int   // numbers per row of the output
	Tokenizer   *tokenizers.Tokenizer

	client  *triton.Client
	name    string
	output  string
	types   bool
	batcher *triton.Batcher[*tokenizers.Encoding, []float32]
}

// Open reads an entry of the model repository: the parameters owned_by,
// created, max_model_len and tokenizer, and the output whose rows are wanted.
// batching bounds what is sent at once.
func Open(client *triton.Client, entry *triton.Model, output string, batching triton.BatchOptions) (*Encoder, error) {
	e := &Encoder{
		ID: entry.PublicID(), OwnedBy: entry.Parameter("owned_by", "retort"),
		client: client, name: entry.Name, output: output,
	}
	var err error
	if e.MaxTokens, err = strconv.Atoi(entry.Parameter("max_model_len", "512")); err != nil || e.MaxTokens < 4 {
		return nil, fmt.Errorf("parameter max_model_len is no length: %q", entry.Parameter("max_model_len", ""))
	}
	if e.Created, err = strconv.ParseInt(entry.Parameter("created", "0"), 10, 64); err != nil {
		return nil, fmt.Errorf("parameter created is no Unix time: %w", err)
	}
	if e.Width, err = entry.OutputSize(output); err != nil {
		return nil, err
	}
	file, err := entry.File(entry.Parameter("tokenizer", "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	if e.Tokenizer, err = tokenizers.Load(file); err != nil {
		return nil, err
	}
	_, e.types = entry.Config.Input(inputTypes)
	if entry.Config.MaxBatch > 0 {
		batching.MaxRows = entry.Config.MaxBatch
	}
	e.batcher = triton.NewBatcher(func(row *tokenizers.Encoding) int { return len(row.IDs) }, e.infer, batching)
	return e, nil
}

// Run returns a row of numbers for each row of tokens, in order. What a row
// gives does not depend on the rows beside it.
func (e *Encoder) Run(ctx context.Context, rows []*tokenizers.Encoding) ([][]float32, error) {
	return e.batcher.Do(ctx, rows)
}

// Tokenize makes n rows, on all cores when there are many.
func Tokenize(ctx context.Context, n int, row func(i int) (*tokenizers.Encoding, error)) ([]*tokenizers.Encoding, error) {
	rows := make([]*tokenizers.Encoding, n)
	some := func(ctx context.Context, lo, hi int) (err error) {
		for i := lo; i < hi; i++ {
			if rows[i], err = row(i); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	const chunk = 64
	if n <= chunk {
		return rows, some(ctx, 0, n)
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < n; lo += chunk {
		work.Go(func() error { return some(ctx, lo, min(lo+chunk, n)) })
	}
	return rows, work.Wait()
}

// batches are the padded tensors of calls, used again.
var batches = sync.Pool{New: func() any { return new(tokenizers.Batch) }}

// infer is one call: rows of similar length, padded to the longest.
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
	return response.FloatRows(e.output, len(rows), e.Width)
}

// TooLong words a row above the model's length as the published services do:
// clients match on the phrase. path is the field of the body that it came of.
func TooLong(long *tokenizers.LengthError, path ...any) error {
	return &fault.Error{
		Kind: fault.Invalid, Path: path,
		Message: fmt.Sprintf("Input length %d exceeds maximum allowed token size %d", long.Length, long.Max),
	}
}
