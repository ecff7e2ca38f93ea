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
	// computed says that the mask covers padding too, so that a graph which leaves padding out computes it, as an ordinary
	// one does.
	computed bool
}

// calls tokenises a workload in calls of size rows, padded in the order they come.
func (d *direct) calls(texts []string, size int) ([]*triton.Request, error) {
	var calls []*triton.Request
	for lo := 0; lo < len(texts); lo += size {
		call, err := d.request(texts[lo:min(lo+size, len(texts))])
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

// sides are the same texts as tensors in calls of size rows, sent to the same Triton, and ONNX Runtime alone, where there
// is a Python that has it: on the same calls, and at its best where group is not 0. stop ends what they started.
func (d *direct) sides(ctx context.Context, name string, texts []string, size, group int) (sides []comparison.Side, stop func(), err error) {
	calls, err := d.calls(texts, size)
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
		masked := *d
		masked.computed = false
		best, stop, err := comparison.Best(ctx, *python, *entry, texts, group, masked.request)
		return append(sides, best), stop, err
	}
	alone, err := comparison.NewBare(*python, filepath.Join(*entry, "1", "model.onnx"), calls)
	if err != nil {
		return nil, nil, err
	}
	sides = append(sides, comparison.Side{Name: bare, Call: each(size, alone.Run), Served: comparison.Known(alone.PID())})
	return sides, func() { _ = alone.Close() }, nil
}

func (d *direct) request(texts []string) (*triton.Request, error) {
	rows := make([]*tokenizers.Encoding, len(texts))
	for i, text := range texts {
		var err error
		if rows[i], err = d.tokenizer.Encode(text, tokenizers.Options{MaxLength: 256, Strategy: tokenizers.OnlyFirst}); err != nil {
			return nil, err
		}
	}
	var batch tokenizers.Batch
	batch.Fill(rows, d.tokenizer.PadID())
	if d.computed {
		for i := range batch.AttentionMask {
			batch.AttentionMask[i] = 1
		}
	}
	return &triton.Request{Model: d.model, Inputs: []triton.Tensor{
		triton.Int64s("input_ids", batch.Shape(), batch.InputIDs),
		triton.Int64s("attention_mask", batch.Shape(), batch.AttentionMask),
		triton.Int64s("token_type_ids", batch.Shape(), batch.TokenTypeIDs),
	}}, nil
}
