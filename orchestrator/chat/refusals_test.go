package chat_test

import (
	"encoding/base64"
	"encoding/json"
	"image/color"
	"os"
	"strings"
	"testing"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/openai"
)

// dataURL is a file of vision/testdata.
func dataURL(t testing.TB, name string) string {
	t.Helper()
	file, err := os.ReadFile("vision/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return "data:image/any;base64," + base64.StdEncoding.EncodeToString(file)
}

func many[T any](n int, one T) (all []T) {
	for range n {
		all = append(all, one)
	}
	return all
}

// Paths of the two interfaces.
const (
	completions = "/v1/chat/completions"
	older       = "/inference/chat_completion"
)

// TestLargeRefusals holds that bodies too large for testdata/answers are refused in the documented form, name the
// field, and leave the service as it was.
func TestLargeRefusals(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	for name, test := range map[string]struct {
		path  string
		body  any
		param string
		text  string
	}{
		"nested JSON":         {completions, strings.Repeat(`{"messages":[`, 15_000), "-", "messages[0]"},
		"nested JSON, whole":  {completions, strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "-", "JSON decode error"},
		"nested in a message": {completions, `{"model":"m","messages":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "-", ""},
		"nested content":      {completions, `{"model":"m","messages":[{"role":"user","content":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}]}`, "messages[0].content[0]", "valid dictionary"},
		"too many messages":   {completions, object{"model": vllmModel, "messages": many(1025, object{"role": "user", "content": "a"})}, "messages", "at most 1024 items"},
		"100 images":          {completions, asked(vllmModel, many(100, imagePart(drawing(9, 9, color.Black))), nil), "messages", "At most 2 image(s) may be provided in one prompt."},
	} {
		t.Run(name, func(t *testing.T) {
			status, text := s.post(test.path, test.body)
			var e chat.Error
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				t.Fatalf("%d %v: %s", status, err, text)
			}
			if status != 400 || e.Object != "error" || e.Type != "BadRequestError" || e.Code != 400 || e.Error.Message != e.Message || e.Error.Object != "error" {
				t.Errorf("not the documented form: %d %s", status, text)
			}
			if !strings.Contains(text, test.text) || len(text) > 4096 {
				t.Errorf("%q is not in %.500s", test.text, text)
			}
			param := ""
			if e.Param != nil {
				param = *e.Param
			}
			if test.param != "-" && param != test.param {
				t.Errorf("param %q, want %q: %s", param, test.param, text)
			}
		})
	}
	if res := answered[openai.Completion](s, completions, said(vllmModel, nil, "still here")); res.Choices[0].Message.Content != "still here" {
		t.Error("the service does not answer any more")
	}
}

// TestHarmless are requests that clients in use send and that must be served.
func TestHarmless(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	for name, extra := range map[string]object{
		"nulls": {"max_tokens": nil, "temperature": nil, "stop": nil, "stream": nil, "tools": nil, "tool_choice": nil, "response_format": nil,
			"n": nil, "logprobs": nil, "stream_options": nil, "seed": nil, "logit_bias": nil},
		"defaults": {"n": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0, "stream": false, "response_format": object{"type": "text"},
			"tool_choice": "none", "top_logprobs": 0, "logprobs": false, "top_k": -1, "repetition_penalty": 1.0, "min_p": 0},
		"company":    {"user": "u", "metadata": object{"a": "b"}, "store": false, "service_tier": "auto", "parallel_tool_calls": true, "tools": []any{}},
		"tools off":  {"tools": []any{object{"type": "function"}}, "tool_choice": "none"},
		"big tokens": {"max_tokens": 1024},
	} {
		for _, model := range []string{vllmModel, ensembleModel} {
			if status, text := s.post("/v1/chat/completions", said(model, extra, "ok")); status != 200 {
				t.Errorf("%s, %s: %d %s", name, model, status, text)
			}
		}
	}
	turns := object{"model": vllmModel, "messages": []any{
		object{"role": "developer", "content": "Be brief."},
		object{"role": "user", "content": []any{textPart("a"), textPart("b")}, "name": "n"},
		object{"role": "assistant", "content": "c", "refusal": nil, "tool_calls": []any{}},
		object{"role": "user", "content": `script {"say": ["ok"]}`},
	}}
	if status, text := s.post("/v1/chat/completions", turns); status != 200 {
		t.Errorf("turns: %d %s", status, text)
	}
}
