package main

import (
	"context"

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

// prepare tokenises a workload in calls of size rows, padded in the order they
// come, and returns what sends those of texts[lo:hi].
func (d *direct) prepare(texts []string, size int) (func(context.Context, []string, int, int) error, error) {
	var calls []*triton.Request
	for lo := 0; lo < len(texts); lo += size {
		call, err := d.request(texts[lo:min(lo+size, len(texts))])
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return func(ctx context.Context, _ []string, lo, hi int) error {
		for i := lo / size; i < (hi+size-1)/size; i++ {
			if _, err := d.client.Infer(ctx, calls[i]); err != nil {
				return err
			}
		}
		return nil
	}, nil
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
	return &triton.Request{Model: d.model, Inputs: []triton.Tensor{
		triton.Int64s("input_ids", batch.Shape(), batch.InputIDs),
		triton.Int64s("attention_mask", batch.Shape(), batch.AttentionMask),
		triton.Int64s("token_type_ids", batch.Shape(), batch.TokenTypeIDs),
	}}, nil
}
