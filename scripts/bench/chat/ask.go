package main

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"retort/orchestrator/client"
	"retort/orchestrator/triton"
)

// answer has the times until the first and the last token of an answer, and its number of tokens.
type answer struct {
	first  time.Duration
	last   time.Duration
	tokens int
}

// ask streams an answer about a drawing through the gateway.
func ask(ctx context.Context, text, drawing string) (a answer, err error) {
	body := map[string]any{
		"model": *publicID, "stream": true, "temperature": 0,
		"messages": []any{map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "image_url",
				"image_url": map[string]string{"url": "data:image/png;base64," + drawing}},
			map[string]string{"type": "text", "text": text},
		}}},
	}
	gateway := client.Service{URL: *gatewayURL, HTTP: http.DefaultClient, Attempts: 1}
	start := time.Now()
	err = gateway.Stream(ctx, "/v1/chat/completions", body, func(chunk []byte) error {
		// A chunk with text is a token: the gateway joins tokens only if the request has stop strings.
		if bytes.Contains(chunk, []byte(`"content":"`)) && !bytes.Contains(chunk, []byte(`"content":""`)) {
			a.add(start)
		}
		return nil
	})
	a.last = time.Since(start)
	return a, err
}

// add counts a token that arrives now.
func (a *answer) add(start time.Time) {
	a.tokens++
	if a.tokens == 1 {
		a.first = time.Since(start)
	}
}

// askTriton streams the same answer straight from Triton.
func askTriton(ctx context.Context, client *triton.Client, text, drawing string) (a answer, err error) {
	start := time.Now()
	responses, err := client.Stream(ctx, &triton.Request{Model: *entry, Inputs: []triton.Tensor{
		triton.Strings("text_input", []int64{1}, []string{"<|user|><|image|>\n" + text + "<|end|><|assistant|>"}),
		triton.Strings("image", []int64{1}, []string{drawing}),
		triton.Strings("sampling_parameters", []int64{1}, []string{`{"max_tokens": 4096, "temperature": 0}`}),
		triton.Bools("stream", []int64{1}, []bool{true}),
		triton.Bools("exclude_input_in_output", []int64{1}, []bool{true}),
		triton.Bools("return_finish_reason", []int64{1}, []bool{true}),
		triton.Bools("return_num_input_tokens", []int64{1}, []bool{true}),
		triton.Bools("return_num_output_tokens", []int64{1}, []bool{true}),
	}})
	if err != nil {
		return a, err
	}
	for _, err := range responses {
		if err != nil {
			return a, err
		}
		a.add(start)
	}
	a.last = time.Since(start)
	return a, nil
}
