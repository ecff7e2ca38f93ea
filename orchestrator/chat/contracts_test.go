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

// TestContracts runs everything that involves a model, on the in-process Triton and on a real one.
func TestContracts(t *testing.T) {
	t.Run("fake", func(t *testing.T) {
		url, repository := fakeTriton(t)
		contracts(t, serve(t, url, repository, nil))
	})
	t.Run("real", func(t *testing.T) {
		url, repository := realTriton(t)
		contracts(t, serve(t, url, repository, nil))
	})
}

func contracts(t *testing.T, s *stand) {
	for name, trial := range map[string]func(*testing.T, *stand){
		"what vllm is sent": sentVLLM, "what the ensemble is sent": sentEnsemble, "what llmapi is sent": sentLLMAPI,
		"answers": answers, "streams": streams, "choices": choices, "stops": stopStrings, "logprobs": logprobs,
		"stack": olderStack, "newer stack": newerStack, "errors of models": modelErrors, "departed": departed,
		"images": images, "prompt too long": tooLongPrompt,
	} {
		t.Run(name, func(t *testing.T) { trial(t, &stand{t: t, url: s.url}) })
	}
}

func same(t *testing.T, got any, want string) {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(got)
	var have any
	_ = json.Unmarshal(text, &have)
	if diff := cmp.Diff(wanted, have); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func answers(t *testing.T, s *stand) {
	status, text := s.post("/v1/chat/completions", said(vllmModel, nil, "Hel", "lo"))
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 {
		t.Fatal(status, text)
	}
	if !strings.HasPrefix(got["id"].(string), "chatcmpl-") || got["created"].(float64) < 1.7e9 {
		t.Errorf("id %v, created %v", got["id"], got["created"])
	}
	delete(got, "id")
	delete(got, "created")
	same(t, got, `{"object": "chat.completion", "model": "test/scripted-vllm", "prompt_logprobs": null,
		"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "logprobs": null, "finish_reason": "stop", "stop_reason": null}],
		"usage": {"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4}}`)
	for _, model := range []string{vllmModel, ensembleModel, llmapiModel} {
		res := answered[openai.Completion](s, "/v1/chat/completions", said(model, object{"max_tokens": 2}, "a", "b", "c"))
		c := res.Choices[0]
		// An engine that neither counts nor says why it ended gives no hint in one piece.
		want := map[string]string{vllmModel: "length", ensembleModel: "stop", llmapiModel: "length"}[model]
		if c.Message.Content != "ab" || c.FinishReason != want || res.Model != model {
			t.Errorf("%s: %+v", model, res)
		}
	}
}

func choices(t *testing.T, s *stand) {
	res := answered[openai.Completion](s, "/v1/chat/completions", said(vllmModel, object{"n": 3, "seed": 5}, "x", "y"))
	if len(res.Choices) != 3 || res.Choices[2].Index != 2 || res.Choices[1].Message.Content != "xy" {
		t.Errorf("%+v", res)
	}
	if res.Usage == nil || *res.Usage != (openai.Usage{PromptTokens: 2, CompletionTokens: 6, TotalTokens: 8}) {
		t.Errorf("usage %+v", res.Usage)
	}
	seeds := map[string]bool{}
	for _, c := range answered[openai.Completion](s, "/v1/chat/completions", asked(vllmModel, "Hi", object{"n": 2, "seed": 5})).Choices {
		var got struct {
			Sampling struct{ Seed int } `json:"sampling_parameters"`
		}
		_ = json.Unmarshal([]byte(c.Message.Content), &got)
		seeds[strconv.Itoa(got.Sampling.Seed)] = true
	}
	if !seeds["5"] || !seeds["6"] {
		t.Errorf("seeds %v", seeds)
	}
	texts := map[string]string{}
	for _, step := range steps(t, s.events("/v1/chat/completions", said(vllmModel, object{"n": 2, "stream": true}, "p", "q"))) {
		index, rest, _ := strings.Cut(step, " ")
		texts[index] += "|" + rest
	}
	if texts["0"] != "|assistant | p| q stop" || texts["1"] != "|assistant | p| q stop" {
		t.Errorf("%v", texts)
	}
}

func logprobs(t *testing.T, s *stand) {
	res := answered[openai.Completion](s, "/v1/chat/completions", said(vllmModel, object{"logprobs": true, "top_logprobs": 2}, "é", "b"))
	same(t, res.Choices[0].Logprobs, `{"content": [
		{"token": "é", "logprob": -0.5, "bytes": [195, 169], "top_logprobs": [
			{"token": "é", "logprob": -0.5, "bytes": [195, 169]}, {"token": "other", "logprob": -1.5, "bytes": [111, 116, 104, 101, 114]}]},
		{"token": "b", "logprob": -0.5, "bytes": [98], "top_logprobs": [
			{"token": "b", "logprob": -0.5, "bytes": [98]}, {"token": "other", "logprob": -1.5, "bytes": [111, 116, 104, 101, 114]}]}]}`)
	bare := answered[openai.Completion](s, "/v1/chat/completions", said(vllmModel, object{"logprobs": true}, "b"))
	same(t, bare.Choices[0].Logprobs, `{"content": [{"token": "b", "logprob": -0.5, "bytes": [98], "top_logprobs": []}]}`)
	if status, text := s.post("/v1/chat/completions", said(ensembleModel, object{"logprobs": true}, "b")); status != 400 || !strings.Contains(text, "`logprobs` is not supported by this model") {
		t.Errorf("%d %s", status, text)
	}
}
