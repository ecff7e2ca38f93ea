package chat_test

import (
	"encoding/json"
	"image/color"
	"retort/orchestrator/chat/stack"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func stackOlder(t *testing.T, s *testServer) {
	for _, path := range []string{"/inference/chat_completion", "/experimental/ls/inference/chat_completion"} {
		_, text := s.post(path, piecesRequest(vllmModel, nil, "Hel", "lo"))
		const want = `{"completion_message":{"role":"assistant","content":"Hello","stop_reason":"end_of_turn",` +
			`"tool_calls":[]},"logprobs":null}`
		if text != want {
			t.Errorf("%s: %s", path, text)
		}
		truncated := object{"stream": true, "sampling_params": object{"max_tokens": 1}}
		got := s.events(path, piecesRequest(vllmModel, truncated, "Hel", "lo"))
		if diff := cmp.Diff([]string{
			`{"event":{"event_type":"start","delta":"","logprobs":null,"stop_reason":null}}`,
			`{"event":{"event_type":"progress","delta":"Hel","logprobs":null,"stop_reason":null}}`,
			`{"event":{"event_type":"complete","delta":"","logprobs":null,"stop_reason":"out_of_tokens"}}`,
		}, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	content := []any{object{"image": object{"uri": pngURL(30, 20, color.Black)}}, "What is it?"}
	res := postOK[stack.Response](s, olderStackPath, newRequest(vllmModel, content, nil))
	var got map[string]any
	if err := json.Unmarshal([]byte(res.CompletionMessage.Content), &got); err != nil {
		t.Fatal(err)
	}
	equalJSON(t, got["text_input"], `["<user><image>What is it?<end><assistant>"]`)
	equalJSON(t, got["image"], `[[30, 20]]`)
	equalJSON(t, got["sampling_parameters"], `{"max_tokens": 512, "temperature": 0}`)
	res = postOK[stack.Response](s, olderStackPath, piecesRequest(vllmModel, object{"logprobs": object{"top_k": 2}}, "a"))
	equalJSON(t, res.Logprobs, `[{"logprobs_by_token": {"a": -0.5, "other": -1.5}}]`)
}

func stackNewer(t *testing.T, s *testServer) {
	url := pngURL(30, 20, color.Black)
	_, data, _ := strings.Cut(url, ",")
	for _, image := range []object{
		{"type": "image", "image": object{"url": object{"uri": url}}},
		{"type": "image", "image": object{"data": data}},
		{"type": "image", "url": object{"uri": url}},
		{"type": "image", "data": data},
	} {
		body := newRequest("", []any{image, object{"type": "text", "text": "What?"}}, object{
			"model_id": vllmModel,
			"sampling_params": object{
				"strategy":   object{"type": "top_p", "temperature": 0.7, "top_p": 0.8},
				"max_tokens": 33,
			},
		})
		delete(body, "model")
		for _, path := range []string{"/v1/inference/chat-completion", "/alpha/inference/chat-completion"} {
			var got map[string]any
			text := postOK[stack.Response](s, path, body).CompletionMessage.Content
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			equalJSON(t, got["sampling_parameters"], `{"max_tokens": 33, "temperature": 0.7, "top_p": 0.8}`)
			equalJSON(t, got["image"], `[[30, 20]]`)
		}
	}
	got := s.events("/v1/inference/chat-completion", piecesRequest(vllmModel, object{"stream": true}, "Hi"))
	if diff := cmp.Diff([]string{
		`{"event":{"event_type":"start","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":null}}`,
		`{"event":{"event_type":"progress","delta":{"type":"text","text":"Hi"},"logprobs":null,"stop_reason":null}}`,
		`{"event":{"event_type":"complete","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":"end_of_turn"}}`,
	}, got); diff != "" {
		t.Error(diff)
	}
}
