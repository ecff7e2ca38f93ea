package chat_test

import (
	"encoding/base64"
	"encoding/json"
	"image/color"
	"os"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/openai"
)

// fixtureURL returns a file of vision/testdata as a data URL.
func fixtureURL(t testing.TB, name string) string {
	t.Helper()
	file, err := os.ReadFile("vision/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return "data:image/any;base64," + base64.StdEncoding.EncodeToString(file)
}

// Paths of the two interfaces.
const (
	completions    = "/v1/chat/completions"
	olderStackPath = "/inference/chat_completion"
)

// TestLargeRefusals checks that bodies too large for testdata/answers are refused in the documented form with the right
// param, and that the service still answers afterwards.
func TestLargeRefusals(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	lists := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	content := `{"model":"m","messages":[{"role":"user","content":` + lists(9_000) + `}]}`
	messages := slices.Repeat([]object{{"role": "user", "content": "a"}}, 1025)
	images := slices.Repeat([]object{imagePart(pngURL(9, 9, color.Black))}, 100)
	for name, test := range map[string]struct {
		body  any
		param string // "-" for any
		text  string
	}{
		"truncated nested JSON": {strings.Repeat(`{"messages":[`, 15_000), "-", "messages[0]"},
		"nested JSON":           {lists(100_000), "-", "JSON decode error"},
		"nested messages":       {`{"model":"m","messages":` + lists(100_000) + `}`, "-", ""},
		"nested content":        {content, "messages[0].content[0]", "valid dictionary"},
		"too many messages":     {object{"model": vllmModel, "messages": messages}, "messages", "at most 1024 items"},
		"100 images":            {newRequest(vllmModel, images, nil), "messages", "At most 2 image(s) may be provided"},
	} {
		t.Run(name, func(t *testing.T) {
			status, text := s.post(completions, test.body)
			var e chat.Error
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				t.Fatalf("%d %v: %s", status, err, text)
			}
			if status != 400 || e.Object != "error" || e.Type != "BadRequestError" || e.Code != 400 ||
				e.Error.Message != e.Message || e.Error.Object != "error" {
				t.Errorf("not the documented form: %d %s", status, text)
			}
			if !strings.Contains(text, test.text) || len(text) > 4096 {
				t.Errorf("got %.500s, want %q", text, test.text)
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
	res := postOK[openai.Completion](s, completions, piecesRequest(vllmModel, nil, "a"))
	if got := *res.Choices[0].Message.Content; got != "a" {
		t.Errorf("after the refusals, the service answers %q", got)
	}
}

// TestAcceptedRequests sends requests of real clients that must be answered.
func TestAcceptedRequests(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	for name, extra := range map[string]object{
		"nulls": {
			"max_tokens": nil, "temperature": nil, "stop": nil, "stream": nil, "tools": nil, "tool_choice": nil, "seed": nil,
			"response_format": nil, "n": nil, "logprobs": nil, "stream_options": nil, "logit_bias": nil,
		},
		"defaults": {
			"n": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0, "stream": false, "tool_choice": "none",
			"response_format": object{"type": "text"}, "top_logprobs": 0, "logprobs": false, "top_k": -1,
			"repetition_penalty": 1.0, "min_p": 0,
		},
		"ignored": {
			"user": "u", "metadata": object{"a": "b"}, "store": false, "service_tier": "auto", "parallel_tool_calls": true,
			"tools": []any{},
		},
		"tools not to call":  {"tools": []any{object{"type": "function"}}, "tool_choice": "none"},
		"max_tokens clamped": {"max_tokens": 1024},
	} {
		for _, model := range []string{vllmModel, ensembleModel} {
			if status, text := s.post(completions, piecesRequest(model, extra, "ok")); status != 200 {
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
	if status, text := s.post(completions, turns); status != 200 {
		t.Errorf("turns: %d %s", status, text)
	}
}
