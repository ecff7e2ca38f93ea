package main

import (
	"context"
	"path/filepath"

	"retort/orchestrator/triton"
	"retort/scripts/bench/comparison"
	"retort/tokenizers"
)

// server is a server with OpenAI's interface.
type server struct{ url, model string }

func (s *server) embed(ctx context.Context, texts []string, lo, hi int) error {
	return comparison.Post(ctx, s.url, map[string]any{"model": s.model, "input": texts[lo:hi]})
}

// direct sends tensors made beforehand.
type direct struct {
	client    *triton.Client
	tokenizer *tokenizers.Tokenizer
	model     string
}

// calls tokenises a workload in calls of size rows, padded in the order they come by request.
func calls(texts []string, size int, request func([]string) (*triton.Request, error)) ([]*triton.Request, error) {
	var calls []*triton.Request
	for lo := 0; lo < len(texts); lo += size {
		call, err := request(texts[lo:min(lo+size, len(texts))])
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// each runs the calls, of size rows each, that hold texts[lo:hi].
func each(size int, run func(ctx context.Context, call int) error) func(context.Context, []string, int, int) error {
	return func(ctx context.Context, _ []string, lo, hi int) error {
		for i := lo / size; i < (hi+size-1)/size; i++ {
			if err := run(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}
}

// sides are the same texts as tensors in calls of size rows, sent to the same Triton, and ONNX Runtime alone, where
// there is a Python that has it: on the same calls, and at its best where group is not 0. request makes the tensors of
// the calls: [direct.request] or [direct.computed]. stop ends what they started.
func (d *direct) sides(ctx context.Context, name string, texts []string, size, group int, request func([]string) (*triton.Request, error)) (sides []comparison.Side, stop func(), err error) {
	calls, err := calls(texts, size, request)
	if err != nil {
		return nil, nil, err
	}
	infer := func(ctx context.Context, call int) error {
		_, err := d.client.Infer(ctx, calls[call])
		return err
	}
	sides = []comparison.Side{{Name: name, Call: each(size, infer), Served: comparison.Known(*tritonPID)}}
	if *python == "" {
		return sides, func() {}, nil
	}
	if group > 0 {
		best, stop, err := comparison.Best(ctx, *python, *entry, texts, group, d.request)
		return append(sides, best), stop, err
	}
	alone, err := comparison.NewBare(*python, filepath.Join(*entry, "1", "model.onnx"), calls)
	if err != nil {
		return nil, nil, err
	}
	sides = append(sides,
		comparison.Side{Name: bare, Call: each(size, alone.Run), Served: comparison.Known(alone.PID())})
	return sides, func() { _ = alone.Close() }, nil
}

// request makes tensors [rows, tokens] of texts, padded to the longest.
func (d *direct) request(texts []string) (*triton.Request, error) {
	batch, err := d.padded(texts)
	if err != nil {
		return nil, err
	}
	return d.tensors(batch), nil
}

// computed makes the same with a mask that covers padding too, so that a graph which leaves padding out computes it, as
// an ordinary one does.
func (d *direct) computed(texts []string) (*triton.Request, error) {
	batch, err := d.padded(texts)
	if err != nil {
		return nil, err
	}
	for i := range batch.AttentionMask {
		batch.AttentionMask[i] = 1
	}
	return d.tensors(batch), nil
}

func (d *direct) padded(texts []string) (*tokenizers.Batch, error) {
	rows := make([]*tokenizers.Encoding, len(texts))
	for i, text := range texts {
		var err error
		if rows[i], err = d.tokenizer.Encode(text,
			tokenizers.Options{MaxLength: 256, Strategy: tokenizers.OnlyFirst}); err != nil {
			return nil, err
		}
	}
	batch := new(tokenizers.Batch)
	batch.Fill(rows, d.tokenizer.PadID())
	return batch, nil
}

func (d *direct) tensors(batch *tokenizers.Batch) *triton.Request {
	return &triton.Request{Model: d.model, Inputs: []triton.Tensor{
		triton.Int64s("input_ids", batch.Shape(), batch.InputIDs),
		triton.Int64s("attention_mask", batch.Shape(), batch.AttentionMask),
		triton.Int64s("token_type_ids", batch.Shape(), batch.TokenTypeIDs),
	}}
}
