package chat_test

import (
	"encoding/json"
	"fmt"
	"retort/orchestrator/chat/openai"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// steps are the choices of the events of a stream, in short.
func steps(t *testing.T, events []string) (short []string) {
	t.Helper()
	id := ""
	for _, e := range events {
		if e == "[DONE]" {
			short = append(short, e)
			continue
		}
		var chunk struct {
			ID, Object string
			Choices    []struct {
				Index        int
				Delta        openai.Delta
				FinishReason *string `json:"finish_reason"`
			}
			Usage *openai.Usage
		}
		if err := json.Unmarshal([]byte(e), &chunk); err != nil {
			t.Fatalf("%v: %s", err, e)
		}
		if id == "" {
			id = chunk.ID
		}
		if chunk.ID != id || chunk.Object != "chat.completion.chunk" {
			t.Errorf("another id or object: %s", e)
		}
		for _, c := range chunk.Choices {
			step := strconv.Itoa(c.Index) + " " + c.Delta.Role + " " + *c.Delta.Content
			if c.FinishReason != nil {
				step += " " + *c.FinishReason
			}
			short = append(short, step)
		}
		if chunk.Usage != nil {
			short = append(short, fmt.Sprintf("usage %d+%d=%d of %d", chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens, chunk.Usage.TotalTokens, len(chunk.Choices)))
		}
	}
	return short
}

func streams(t *testing.T, s *stand) {
	ask := func(extra object, pieces ...string) []string {
		extra["stream"] = true
		return s.events("/v1/chat/completions", said(vllmModel, extra, pieces...))
	}
	plain := ask(object{}, "Hel", "lo")
	if diff := cmp.Diff([]string{"0 assistant ", "0  Hel", "0  lo stop", "[DONE]"}, steps(t, plain)); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{`"logprobs":null,"finish_reason":null}]}`, `"finish_reason":null}]}`, `"finish_reason":"stop","stop_reason":null}]}`} {
		if !strings.HasSuffix(plain[i], want) {
			t.Errorf("event %d: %s", i, plain[i])
		}
	}
	with := steps(t, ask(object{"stream_options": object{"include_usage": true}}, "Hel", "lo"))
	if diff := cmp.Diff([]string{"0 assistant ", "0  Hel", "0  lo stop", "usage 2+2=4 of 0", "[DONE]"}, with); diff != "" {
		t.Error(diff)
	}
	always := steps(t, ask(object{"stream_options": object{"include_usage": true, "continuous_usage_stats": true}}, "a", "b"))
	if diff := cmp.Diff([]string{"0 assistant ", "usage 2+1=3 of 1", "0  a", "usage 2+1=3 of 1", "0  b stop", "usage 2+2=4 of 1", "usage 2+2=4 of 0", "[DONE]"}, always); diff != "" {
		t.Error(diff)
	}
	for _, model := range []string{ensembleModel, llmapiModel} {
		got := steps(t, s.events("/v1/chat/completions", said(model, object{"stream": true, "max_tokens": 2}, "a", "b", "c")))
		if text := strings.Join(got, "|"); text != "0 assistant |0  a|0  b|0   length|[DONE]" && text != "0 assistant |0  a|0  b length|[DONE]" {
			t.Errorf("%s: %s", model, text)
		}
	}
}

func stopStrings(t *testing.T, s *stand) {
	for _, test := range []struct {
		extra   object
		pieces  []string
		content string
		reason  any
	}{
		{object{"stop": "END"}, []string{"a", "E", "N", "D", "b"}, "a", "END"},
		{object{"stop": []string{"zzz", "l"}}, []string{"he", "llo"}, "he", "l"},
		{object{"stop": "END", "include_stop_str_in_output": true}, []string{"aEN", "Db"}, "aEND", "END"},
		{object{"stop": "END"}, []string{"a", "EN"}, "aEN", nil},
		{object{"stop": "END"}, []string{"EN", "EN", "D!"}, "EN", "END"},
		{object{}, []string{"caf", "é 🧪"}, "café 🧪", nil},
	} {
		for _, model := range []string{vllmModel, ensembleModel} {
			c := answered[openai.Completion](s, "/v1/chat/completions", said(model, test.extra, test.pieces...)).Choices[0]
			var reason any
			if c.StopReason != nil {
				reason = *c.StopReason
			}
			if c.Message.Content != test.content || reason != test.reason || c.FinishReason != "stop" {
				t.Errorf("%s %v: %q, %v", model, test, c.Message.Content, reason)
			}
			streamed := ""
			for _, step := range steps(t, s.events("/v1/chat/completions", said(model, with(test.extra, "stream", true), test.pieces...))) {
				if text, found := strings.CutPrefix(step, "0  "); found {
					streamed += strings.TrimSuffix(text, " stop")
				}
			}
			if streamed != test.content {
				t.Errorf("%s %v: streamed %q", model, test, streamed)
			}
		}
	}
}

func with(o object, name string, value any) object {
	out := object{name: value}
	for k, v := range o {
		out[k] = v
	}
	return out
}
