package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"retort/orchestrator/triton"
)

// answer is how long an answer took and how many tokens it had.
type answer struct {
	first, whole time.Duration
	tokens       int
}

// ask has a question about a drawing answered through the gateway, streamed.
func ask(ctx context.Context, text, drawing string) (a answer, err error) {
	body, err := json.Marshal(map[string]any{
		"model": *publicID, "stream": true, "temperature": 0,
		"messages": []any{map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "image_url",
				"image_url": map[string]string{"url": "data:image/png;base64," + drawing}},
			map[string]string{"type": "text", "text": text},
		}}},
	})
	if err != nil {
		return a, err
	}
	start := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, *gatewayURL+"/v1/chat/completions",
		bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(request)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 500))
		return a, fmt.Errorf("%s: %s", res.Status, text)
	}
	// A chunk with text is a token: the gateway joins none where no stop string is asked for.
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		line := lines.Text()
		if strings.Contains(line, `"error"`) {
			return a, fmt.Errorf("the stream failed: %.300s", line)
		}
		if !strings.HasPrefix(line, "data: {") || !strings.Contains(line, `"content":"`) ||
			strings.Contains(line, `"content":""`) {
			continue
		}
		if a.tokens++; a.tokens == 1 {
			a.first = time.Since(start)
		}
	}
	a.whole = time.Since(start)
	return a, nil
}

// askTriton sends the same request straight to Triton.
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
		if a.tokens++; a.tokens == 1 {
			a.first = time.Since(start)
		}
	}
	a.whole = time.Since(start)
	return a, nil
}
