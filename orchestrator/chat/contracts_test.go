package chat_test

import (
	"encoding/json"
	"fmt"
	"image/color"
	"net/http"
	"net/http/httptest"
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/chat/stack"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	vllmModel     = "test/scripted-vllm"
	ensembleModel = "test/scripted-ensemble"
	llmapiModel   = "test/scripted-llmapi"
)

// TestContracts runs everything that involves a model, on the in-process
// Triton and on a real one.
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

// seen is what a model says it was sent.
func seen(s *stand, body object) (got map[string]any) {
	s.t.Helper()
	res := answered[openai.Completion](s, "/v1/chat/completions", body)
	if err := json.Unmarshal([]byte(res.Choices[0].Message.Content), &got); err != nil {
		s.t.Fatalf("%v: %s", err, res.Choices[0].Message.Content)
	}
	return got
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

func sentVLLM(t *testing.T, s *stand) {
	content := []any{textPart("What <image> is it?"), imagePart(drawing(30, 20, color.Black))}
	got := seen(s, asked(vllmModel, content, object{
		"max_tokens": 50, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "seed": 7, "stop": "\n\n",
		"presence_penalty": 0.5, "frequency_penalty": -0.5, "repetition_penalty": 1.1, "min_tokens": 0, "n": nil,
		"stop_token_ids": []int{2}, "ignore_eos": false, "user": "u",
	}))
	same(t, got, `{
		"text_input": ["<user><image>What < image> is it?<end><assistant>"],
		"image": [[30, 20]], "stream": [false], "exclude_input_in_output": [true],
		"return_finish_reason": [true], "return_num_input_tokens": [true], "return_num_output_tokens": [true],
		"sampling_parameters": {"max_tokens": 50, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "seed": 7,
			"stop": ["\n\n"], "include_stop_str_in_output": true, "presence_penalty": 0.5, "frequency_penalty": -0.5,
			"repetition_penalty": 1.1, "min_tokens": 0, "stop_token_ids": [2], "ignore_eos": false}}`)
	same(t, seen(s, asked(vllmModel, "Hi", nil))["sampling_parameters"], `{"max_tokens": 512}`)
}

func sentEnsemble(t *testing.T, s *stand) {
	content := []any{imagePart(drawing(30, 20, color.Black)), imagePart(drawing(10, 10, color.White)), textPart("Same?")}
	got := seen(s, asked(ensembleModel, content, object{
		"max_completion_tokens": 40, "temperature": 0.25, "top_p": 0.5, "top_k": 3, "seed": 11, "stop": []string{"\n", "\t"}, "repetition_penalty": 1.5,
	}))
	same(t, got, `{
		"text_input": ["<user><image><image>Same?<end><assistant>"], "max_tokens": [40], "temperature": [0.25], "top_p": [0.5],
		"top_k": [3], "seed": [11], "stop_words": ["\n", "\t"], "repetition_penalty": [1.5], "stream": [false],
		"image_bytes_input": {"shape": [1, 2, 16, 24, 3], "first": [0, 0, 0]}}`)
}

func sentLLMAPI(t *testing.T, s *stand) {
	body := asked(llmapiModel, []any{imagePart(drawing(12, 9, color.Black)), textPart("What is it?")}, object{"max_tokens": 9, "temperature": 0, "stop": "\n"})
	body["messages"] = append([]any{object{"role": "system", "content": "Be brief."}}, body["messages"].([]any)...)
	same(t, seen(s, body), `{
		"text_input": ["Be brief.\nWhat is it?"], "image_url": [[12, 9]], "sampling_param_max_tokens": [9],
		"sampling_param_temperature": [0], "sampling_param_stop": ["\n"], "streaming": [false],
		"sampling_param_exclude_input_from_output": [true], "return_finish_reason": [true]}`)
	body["messages"] = append(body["messages"].([]any), object{"role": "assistant", "content": "A."}, object{"role": "user", "content": "B?"})
	if status, text := s.post("/v1/chat/completions", body); status != 400 || !strings.Contains(text, "single questions") {
		t.Errorf("%d %s", status, text)
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

func modelErrors(t *testing.T, s *stand) {
	for text, want := range map[string]struct {
		status int
		part   string
	}{
		"the weights melted": {500, "Internal server error"},
		"The decoder prompt (length 900) is longer than the maximum model length of 512.": {400,
			"This model's maximum context length is 512 tokens. However, you requested 900 tokens in the messages."},
		"At most 1 image(s) may be provided in one prompt.": {400, "At most 1 image(s) may be provided in one prompt."},
		"InvalidRequest: two drawings at most":              {400, "two drawings at most"},
	} {
		status, body := s.post("/v1/chat/completions", told(vllmModel, fmt.Sprintf(`{"fail": %q}`, text), nil))
		if status != want.status || !strings.Contains(body, want.part) {
			t.Errorf("%s: %d %s", text, status, body)
		}
		status, body = s.post("/v1/chat/completions", told(vllmModel, fmt.Sprintf(`{"fail": %q}`, text), object{"stream": true}))
		if status != want.status || !strings.Contains(body, want.part) {
			t.Errorf("%s, streamed: %d %s", text, status, body)
		}
	}
	late := `{"say": ["a", "b", "c"], "fail": "melted", "fail_at": 1}`
	got := s.events("/v1/chat/completions", told(vllmModel, late, object{"stream": true}))
	last := len(got) - 1
	if last < 2 || got[last] != "[DONE]" {
		t.Fatalf("%q", got)
	}
	var failed chat.Error
	if err := json.Unmarshal([]byte(got[last-1]), &failed); err != nil || failed.Error.Object != "error" || failed.Error.Message != "Internal server error" || failed.Code != 500 {
		t.Errorf("%v %s", err, got[last-1])
	}
	got = s.events("/inference/chat_completion", told(vllmModel, late, object{"stream": true}))
	if diff := cmp.Diff(`{"error":{"message":"Internal server error"}}`, got[len(got)-1]); diff != "" {
		t.Error(diff)
	}
}

// departed holds that the model stops when the client has left.
func departed(t *testing.T, s *stand) {
	canceled := func() int {
		res := answered[openai.Completion](s, "/v1/chat/completions", told(vllmModel, `{"canceled": true}`, nil))
		n, err := strconv.Atoi(res.Choices[0].Message.Content)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, stream := range []bool{true, false} {
		before := canceled()
		slow := `{"say": ["` + strings.Repeat(`a", "`, 300) + `z"], "delay_ms": 50}`
		client := &http.Client{Timeout: 300 * time.Millisecond}
		res, err := client.Post(s.url+"/v1/chat/completions", "application/json", encoded(t, told(vllmModel, slow, object{"stream": stream})))
		if err == nil {
			time.Sleep(100 * time.Millisecond)
			res.Body.Close()
		}
		client.CloseIdleConnections()
		for until := time.Now().Add(3 * time.Second); canceled() == before; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("stream=%v: the model was not told within 3 s", stream)
			}
		}
	}
}

func images(t *testing.T, s *stand) {
	fetched := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "vision/testdata/rgb.png")
	}))
	defer fetched.Close()
	content := []any{imagePart(fetched.URL + "/a.png"), object{"type": "image_url", "image_url": drawing(16, 12, color.NRGBA{0, 0, 0, 0})}, textPart("Same?")}
	same(t, seen(s, asked(vllmModel, content, nil))["image"], `[[20, 14], [16, 12]]`)
	got := seen(s, asked(ensembleModel, []any{imagePart(drawing(16, 12, color.NRGBA{0, 0, 0, 0})), textPart("?")}, nil))
	same(t, got["image_bytes_input"], `{"shape": [1, 1, 16, 24, 3], "first": [255, 255, 255]}`)
	third := append(content, imagePart(drawing(9, 9, color.Black)))
	status, text := s.post("/v1/chat/completions", asked(vllmModel, third, nil))
	if status != 400 || !strings.Contains(text, "At most 2 image(s) may be provided in one prompt.") {
		t.Errorf("%d %s", status, text)
	}
	status, text = s.post("/v1/chat/completions", asked(vllmModel, []any{textPart("x"), imagePart("http://10.0.0.1/a.png")}, nil))
	if status != 400 || !strings.Contains(text, "not fetched from") || !strings.Contains(text, `"param":"messages[0].content[1]"`) {
		t.Errorf("%d %s", status, text)
	}
}

func tooLongPrompt(t *testing.T, s *stand) {
	status, text := s.post("/v1/chat/completions", told(vllmModel, `{"fail": "The decoder prompt (length 900) is longer than the maximum model length of 512."}`, nil))
	if status != 400 || !strings.Contains(text, `"type":"BadRequestError"`) {
		t.Errorf("%d %s", status, text)
	}
}
