package chat_test

import (
	"encoding/json"
	"image/color"
	"retort/orchestrator/chat/stack"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func olderStack(t *testing.T, s *stand) {
	for _, path := range []string{"/inference/chat_completion", "/experimental/ls/inference/chat_completion"} {
		_, text := s.post(path, said(vllmModel, nil, "Hel", "lo"))
		want := `{"completion_message":{"role":"assistant","content":"Hello","stop_reason":"end_of_turn","tool_calls":[]},"logprobs":null}`
		if text != want {
			t.Errorf("%s: %s", path, text)
		}
		got := s.events(path, said(vllmModel, object{"stream": true, "sampling_params": object{"max_tokens": 1}}, "Hel", "lo"))
		if diff := cmp.Diff([]string{
			`{"event":{"event_type":"start","delta":"","logprobs":null,"stop_reason":null}}`,
			`{"event":{"event_type":"progress","delta":"Hel","logprobs":null,"stop_reason":null}}`,
			`{"event":{"event_type":"complete","delta":"","logprobs":null,"stop_reason":"out_of_tokens"}}`,
		}, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	content := []any{object{"image": object{"uri": drawing(30, 20, color.Black)}}, "What is it?"}
	res := answered[stack.Response](s, "/inference/chat_completion", asked(vllmModel, content, nil))
	var got map[string]any
	if err := json.Unmarshal([]byte(res.CompletionMessage.Content), &got); err != nil {
		t.Fatal(err)
	}
	same(t, got["text_input"], `["<user><image>What is it?<end><assistant>"]`)
	same(t, got["image"], `[[30, 20]]`)
	same(t, got["sampling_parameters"], `{"max_tokens": 512, "temperature": 0}`)
	probs := answered[stack.Response](s, "/inference/chat_completion", said(vllmModel, object{"logprobs": object{"top_k": 2}}, "a"))
	same(t, probs.Logprobs, `[{"logprobs_by_token": {"a": -0.5, "other": -1.5}}]`)
}

func newerStack(t *testing.T, s *stand) {
	url := drawing(30, 20, color.Black)
	_, data, _ := strings.Cut(url, ",")
	for _, image := range []object{
		{"type": "image", "image": object{"url": object{"uri": url}}},
		{"type": "image", "image": object{"data": data}},
		{"type": "image", "url": object{"uri": url}},
		{"type": "image", "data": data},
	} {
		body := asked("", []any{image, object{"type": "text", "text": "What?"}}, object{
			"model_id": vllmModel, "sampling_params": object{"strategy": object{"type": "top_p", "temperature": 0.7, "top_p": 0.8}, "max_tokens": 33},
		})
		delete(body, "model")
		for _, path := range []string{"/v1/inference/chat-completion", "/alpha/inference/chat-completion"} {
			var got map[string]any
			text := answered[stack.Response](s, path, body).CompletionMessage.Content
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			same(t, got["sampling_parameters"], `{"max_tokens": 33, "temperature": 0.7, "top_p": 0.8}`)
			same(t, got["image"], `[[30, 20]]`)
		}
	}
	got := s.events("/v1/inference/chat-completion", said(vllmModel, object{"stream": true}, "Hi"))
	if diff := cmp.Diff([]string{
		`{"event":{"event_type":"start","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":null}}`,
		`{"event":{"event_type":"progress","delta":{"type":"text","text":"Hi"},"logprobs":null,"stop_reason":null}}`,
		`{"event":{"event_type":"complete","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":"end_of_turn"}}`,
	}, got); diff != "" {
		t.Error(diff)
	}
}
