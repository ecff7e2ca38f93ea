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

// side is one of the things compared: call embeds texts[lo:hi] of the
// workload.
type side struct {
	name string
	call func(ctx context.Context, texts []string, lo, hi int) error
}

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

// prepare tokenises a workload in rows of size, padded in the order they
// come, and returns what sends those of texts[lo:hi].
func (d *direct) prepare(texts []string, size int) func(context.Context, []string, int, int) error {
	var requests []*triton.Request
	for lo := 0; lo < len(texts); lo += size {
		requests = append(requests, d.request(texts[lo:min(lo+size, len(texts))]))
	}
	return func(ctx context.Context, _ []string, lo, hi int) error {
		for i := lo / size; i < (hi+size-1)/size; i++ {
			if _, err := d.client.Infer(ctx, requests[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func (d *direct) request(texts []string) *triton.Request {
	rows, longest := make([]*tokenizers.Encoding, len(texts)), 0
	for i, text := range texts {
		e, err := d.tokenizer.Encode(text, tokenizers.Options{MaxLength: 256, Strategy: tokenizers.OnlyFirst})
		if err != nil {
			panic(err)
		}
		rows[i], longest = e, max(longest, len(e.IDs))
	}
	ids, mask, types := make([]int64, len(rows)*longest), make([]int64, len(rows)*longest), make([]int64, len(rows)*longest)
	for i, row := range rows {
		for j, id := range row.IDs {
			ids[i*longest+j], mask[i*longest+j] = int64(id), 1
		}
	}
	shape := []int64{int64(len(rows)), int64(longest)}
	return &triton.Request{Model: d.model, Inputs: []triton.Tensor{
		triton.Int64s("input_ids", shape, ids), triton.Int64s("attention_mask", shape, mask), triton.Int64s("token_type_ids", shape, types),
	}}
}
