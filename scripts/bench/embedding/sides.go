package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// server is a server with OpenAI's interface.
type server struct{ url, model string }

var web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func (s *server) embed(ctx context.Context, texts []string, lo, hi int) error {
	body, err := json.Marshal(map[string]any{"model": s.model, "input": texts[lo:hi]})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := web.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", s.url, res.Status, answer)
	}
	return err
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
