package chat_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"retort/orchestrator/chat/openai"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// summarize returns one line for each choice and each usage in the events of a stream: the index, role, text and finish
// reason of a choice.
func summarize(t *testing.T, events []string) (lines []string) {
	t.Helper()
	id := ""
	for _, e := range events {
		if e == "[DONE]" {
			lines = append(lines, e)
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
			t.Errorf("wrong id or object: %s", e)
		}
		for _, c := range chunk.Choices {
			line := strconv.Itoa(c.Index) + " " + c.Delta.Role + " " + *c.Delta.Content
			if c.FinishReason != nil {
				line += " " + *c.FinishReason
			}
			lines = append(lines, line)
		}
		if u := chunk.Usage; u != nil {
			lines = append(lines, fmt.Sprintf("usage %d+%d=%d, %d choices",
				u.PromptTokens, u.CompletionTokens, u.TotalTokens, len(chunk.Choices)))
		}
	}
	return lines
}

func streams(t *testing.T, s *testServer) {
	stream := func(extra object, pieces ...string) []string {
		extra["stream"] = true
		return s.events(completions, piecesRequest(vllmModel, extra, pieces...))
	}
	plain := stream(object{}, "Hel", "lo")
	if diff := cmp.Diff([]string{"0 assistant ", "0  Hel", "0  lo stop", "[DONE]"}, summarize(t, plain)); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{
		`"logprobs":null,"finish_reason":null}]}`,
		`"finish_reason":null}]}`,
		`"finish_reason":"stop","stop_reason":null}]}`,
	} {
		if !strings.HasSuffix(plain[i], want) {
			t.Errorf("event %d: %s", i, plain[i])
		}
	}
	atEnd := summarize(t, stream(object{"stream_options": object{"include_usage": true}}, "Hel", "lo"))
	if diff := cmp.Diff([]string{"0 assistant ", "0  Hel", "0  lo stop", "usage 2+2=4, 0 choices", "[DONE]"}, atEnd); diff != "" {
		t.Error(diff)
	}
	options := object{"include_usage": true, "continuous_usage_stats": true}
	inEvery := summarize(t, stream(object{"stream_options": options}, "a", "b"))
	if diff := cmp.Diff([]string{
		"0 assistant ", "usage 2+1=3, 1 choices", "0  a", "usage 2+1=3, 1 choices", "0  b stop", "usage 2+2=4, 1 choices",
		"usage 2+2=4, 0 choices", "[DONE]",
	}, inEvery); diff != "" {
		t.Error(diff)
	}
	var offsets []int
	for _, e := range s.events("/v1/completions", object{
		"model": vllmModel, "prompt": `script {"say": ["Hé", "l", "lo", "x"]}`, "stream": true, "logprobs": 1, "stop": "lo!",
	}) {
		var event openai.TextCompletion
		if e != "[DONE]" && json.Unmarshal([]byte(e), &event) == nil && event.Choices[0].Logprobs != nil {
			offsets = append(offsets, event.Choices[0].Logprobs.TextOffset...)
		}
	}
	if diff := cmp.Diff([]int{0, 2, 3, 5}, offsets); diff != "" {
		t.Error(diff)
	}
	for _, model := range []string{ensembleModel, llmapiModel} {
		got := summarize(t, s.events(completions, piecesRequest(model, object{"stream": true, "max_tokens": 2}, "a", "b", "c")))
		switch text := strings.Join(got, "|"); text {
		case "0 assistant |0  a|0  b length|[DONE]", "0 assistant |0  a|0  b|0   length|[DONE]":
		default:
			t.Errorf("%s: %s", model, text)
		}
	}
}

func stopStrings(t *testing.T, s *testServer) {
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
			c := postOK[openai.Completion](s, completions, piecesRequest(model, test.extra, test.pieces...)).Choices[0]
			var reason any
			if c.StopReason != nil {
				reason = *c.StopReason
			}
			if *c.Message.Content != test.content || reason != test.reason || c.FinishReason != "stop" {
				t.Errorf("%s %v: %q, %v", model, test, *c.Message.Content, reason)
			}
			streamed := ""
			extra := object{"stream": true}
			maps.Copy(extra, test.extra)
			for _, line := range summarize(t, s.events(completions, piecesRequest(model, extra, test.pieces...))) {
				if text, found := strings.CutPrefix(line, "0  "); found {
					streamed += strings.TrimSuffix(text, " stop")
				}
			}
			if streamed != test.content {
				t.Errorf("%s %v: streamed %q", model, test, streamed)
			}
		}
	}
}
