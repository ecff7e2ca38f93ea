package chat_test

import (
	"encoding/json"
	"image/color"
	"net/http"
	"net/http/httptest"
	"retort/orchestrator/chat/openai"
	"strings"
	"testing"
)

// seen is what a model says it was sent.
func seen(s *stand, body object) (got map[string]any) {
	s.t.Helper()
	res := answered[openai.Completion](s, "/v1/chat/completions", body)
	if err := json.Unmarshal([]byte(res.Choices[0].Message.Content), &got); err != nil {
		s.t.Fatalf("%v: %s", err, res.Choices[0].Message.Content)
	}
	return got
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
	if status != 400 || !strings.Contains(text, "address that is not allowed") || !strings.Contains(text, `"param":"messages[0].content[1]"`) {
		t.Errorf("%d %s", status, text)
	}
}
