package chat_test

import (
	"encoding/json"
	"retort/orchestrator/chat/openai"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	vllmModel     = "test/scripted-vllm"
	ensembleModel = "test/scripted-ensemble"
	llmapiModel   = "test/scripted-llmapi"
)

// TestContracts runs all tests that involve a model, on the in-process Triton and on a real one.
func TestContracts(t *testing.T) {
	t.Run("fake", func(t *testing.T) {
		url, repository := fakeTriton(t)
		testContracts(t, serve(t, url, repository, nil))
	})
	t.Run("real", func(t *testing.T) {
		url, repository := realTriton(t)
		testContracts(t, serve(t, url, repository, nil))
	})
}

func testContracts(t *testing.T, s *testServer) {
	for name, test := range map[string]func(*testing.T, *testServer){
		"vllm inputs": vllmInputs, "ensemble inputs": ensembleInputs, "llmapi inputs": llmapiInputs,
		"answers": answers, "streams": streams, "choices": choices, "stop strings": stopStrings, "logprobs": logprobs,
		"older stack": stackOlder, "newer stack": stackNewer, "engine errors": engineErrors,
		"client disconnects": clientDisconnects,
		"images":             images,
	} {
		t.Run(name, func(t *testing.T) { test(t, &testServer{t: t, url: s.url}) })
	}
}

// equalJSON compares got, as JSON, with want.
func equalJSON(t *testing.T, got any, want string) {
	t.Helper()
	var wantValue any
	if err := json.Unmarshal([]byte(want), &wantValue); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(got)
	var gotValue any
	_ = json.Unmarshal(text, &gotValue)
	if diff := cmp.Diff(wantValue, gotValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func answers(t *testing.T, s *testServer) {
	status, text := s.post(completions, piecesRequest(vllmModel, nil, "Hel", "lo"))
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 {
		t.Fatal(status, text)
	}
	if !strings.HasPrefix(got["id"].(string), "chatcmpl-") || got["created"].(float64) < 1.7e9 {
		t.Errorf("id %v, created %v", got["id"], got["created"])
	}
	delete(got, "id")
	delete(got, "created")
	equalJSON(t, got, `{"object": "chat.completion", "model": "test/scripted-vllm", "prompt_logprobs": null,
		"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "logprobs": null,
			"finish_reason": "stop", "stop_reason": null}],
		"usage": {"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4}}`)
	for _, model := range []string{vllmModel, ensembleModel, llmapiModel} {
		res := postOK[openai.Completion](s, completions, piecesRequest(model, object{"max_tokens": 2}, "a", "b", "c"))
		c := res.Choices[0]
		// The ensemble gives neither counts nor a finish reason.
		want := map[string]string{vllmModel: "length", ensembleModel: "stop", llmapiModel: "length"}[model]
		if *c.Message.Content != "ab" || c.FinishReason != want || res.Model != model {
			t.Errorf("%s: %+v", model, res)
		}
	}
}

func choices(t *testing.T, s *testServer) {
	res := postOK[openai.Completion](s, completions, piecesRequest(vllmModel, object{"n": 3, "seed": 5}, "x", "y"))
	if len(res.Choices) != 3 || res.Choices[2].Index != 2 || *res.Choices[1].Message.Content != "xy" {
		t.Errorf("%+v", res)
	}
	if res.Usage == nil || *res.Usage != (openai.Usage{PromptTokens: 2, CompletionTokens: 6, TotalTokens: 8}) {
		t.Errorf("usage %+v", res.Usage)
	}
	seeds := map[string]bool{}
	res = postOK[openai.Completion](s, completions, newRequest(vllmModel, "Hi", object{"n": 2, "seed": 5}))
	for _, c := range res.Choices {
		var got struct {
			Sampling struct{ Seed int } `json:"sampling_parameters"`
		}
		_ = json.Unmarshal([]byte(*c.Message.Content), &got)
		seeds[strconv.Itoa(got.Sampling.Seed)] = true
	}
	if !seeds["5"] || !seeds["6"] {
		t.Errorf("seeds %v", seeds)
	}
	texts := map[string]string{}
	events := s.events(completions, piecesRequest(vllmModel, object{"n": 2, "stream": true}, "p", "q"))
	for _, summary := range summarize(t, events) {
		index, delta, _ := strings.Cut(summary, " ")
		texts[index] += "|" + delta
	}
	if texts["0"] != "|assistant | p| q stop" || texts["1"] != "|assistant | p| q stop" {
		t.Errorf("%v", texts)
	}
}

func logprobs(t *testing.T, s *testServer) {
	res := postOK[openai.Completion](s, completions, piecesRequest(vllmModel, object{"logprobs": true, "top_logprobs": 2}, "é", "b"))
	equalJSON(t, res.Choices[0].Logprobs, `{"content": [
		{"token": "é", "logprob": -0.5, "bytes": [195, 169], "top_logprobs": [
			{"token": "é", "logprob": -0.5, "bytes": [195, 169]},
			{"token": "other", "logprob": -1.5, "bytes": [111, 116, 104, 101, 114]}]},
		{"token": "b", "logprob": -0.5, "bytes": [98], "top_logprobs": [
			{"token": "b", "logprob": -0.5, "bytes": [98]},
			{"token": "other", "logprob": -1.5, "bytes": [111, 116, 104, 101, 114]}]}]}`)
	bare := postOK[openai.Completion](s, completions, piecesRequest(vllmModel, object{"logprobs": true}, "b"))
	equalJSON(t, bare.Choices[0].Logprobs,
		`{"content": [{"token": "b", "logprob": -0.5, "bytes": [98], "top_logprobs": []}]}`)
	status, text := s.post(completions, piecesRequest(ensembleModel, object{"logprobs": true}, "b"))
	if status != 400 || !strings.Contains(text, "`logprobs` is not supported by this model") {
		t.Errorf("%d %s", status, text)
	}
}
