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

// receivedInputs returns the tensors that the model received.
func receivedInputs(s *testServer, body object) (got map[string]any) {
	s.t.Helper()
	res := postOK[openai.Completion](s, completions, body)
	content := *res.Choices[0].Message.Content
	if err := json.Unmarshal([]byte(content), &got); err != nil {
		s.t.Fatalf("%v: %s", err, content)
	}
	return got
}

func vllmInputs(t *testing.T, s *testServer) {
	content := []any{textPart("What <image> is it?"), imagePart(pngURL(30, 20, color.Black))}
	got := receivedInputs(s, newRequest(vllmModel, content, object{
		"max_tokens": 50, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "seed": 7, "stop": "\n\n",
		"presence_penalty": 0.5, "frequency_penalty": -0.5, "repetition_penalty": 1.1, "min_tokens": 0, "n": nil,
		"stop_token_ids": []int{2}, "ignore_eos": false, "user": "u",
	}))
	equalJSON(t, got, `{
		"text_input": ["<user><image>What < image> is it?<end><assistant>"],
		"image": [[30, 20]], "stream": [false], "exclude_input_in_output": [true],
		"return_finish_reason": [true], "return_num_input_tokens": [true], "return_num_output_tokens": [true],
		"sampling_parameters": {"max_tokens": 50, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "seed": 7,
			"stop": ["\n\n"], "include_stop_str_in_output": true, "presence_penalty": 0.5, "frequency_penalty": -0.5,
			"repetition_penalty": 1.1, "min_tokens": 0, "stop_token_ids": [2], "ignore_eos": false}}`)
	equalJSON(t, receivedInputs(s, newRequest(vllmModel, "Hi", nil))["sampling_parameters"], `{"max_tokens": 512}`)
}

func ensembleInputs(t *testing.T, s *testServer) {
	content := []any{imagePart(pngURL(30, 20, color.Black)), imagePart(pngURL(10, 10, color.White)), textPart("Same?")}
	got := receivedInputs(s, newRequest(ensembleModel, content, object{
		"max_completion_tokens": 40, "temperature": 0.25, "top_p": 0.5, "top_k": 3, "seed": 11,
		"stop": []string{"\n", "\t"}, "repetition_penalty": 1.5,
	}))
	equalJSON(t, got, `{
		"text_input": ["<user><image><image>Same?<end><assistant>"], "max_tokens": [40], "temperature": [0.25], "top_p": [0.5],
		"top_k": [3], "seed": [11], "stop_words": ["\n", "\t"], "repetition_penalty": [1.5], "stream": [false],
		"image_bytes_input": {"shape": [1, 2, 16, 24, 3], "first": [0, 0, 0]}}`)
}

func llmapiInputs(t *testing.T, s *testServer) {
	content := []any{imagePart(pngURL(12, 9, color.Black)), textPart("What is it?")}
	body := newRequest(llmapiModel, content, object{"max_tokens": 9, "temperature": 0, "stop": "\n"})
	body["messages"] = append([]any{object{"role": "system", "content": "Be brief."}}, body["messages"].([]any)...)
	equalJSON(t, receivedInputs(s, body), `{
		"text_input": ["Be brief.\nWhat is it?"], "image_url": [[12, 9]], "sampling_param_max_tokens": [9],
		"sampling_param_temperature": [0], "sampling_param_stop": ["\n"], "streaming": [false],
		"sampling_param_exclude_input_from_output": [true], "return_finish_reason": [true]}`)
	body["messages"] = append(body["messages"].([]any),
		object{"role": "assistant", "content": "A."}, object{"role": "user", "content": "B?"})
	if status, text := s.post(completions, body); status != 400 || !strings.Contains(text, "single questions") {
		t.Errorf("%d %s", status, text)
	}
}

func images(t *testing.T, s *testServer) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "vision/testdata/rgb.png")
	}))
	defer server.Close()
	transparent := pngURL(16, 12, color.NRGBA{0, 0, 0, 0})
	content := []any{
		imagePart(server.URL + "/a.png"), object{"type": "image_url", "image_url": transparent}, textPart("Same?"),
	}
	equalJSON(t, receivedInputs(s, newRequest(vllmModel, content, nil))["image"], `[[20, 14], [16, 12]]`)
	got := receivedInputs(s, newRequest(ensembleModel, []any{imagePart(transparent), textPart("?")}, nil))
	equalJSON(t, got["image_bytes_input"], `{"shape": [1, 1, 16, 24, 3], "first": [255, 255, 255]}`)
	tooMany := append(content, imagePart(pngURL(9, 9, color.Black)))
	status, text := s.post(completions, newRequest(vllmModel, tooMany, nil))
	if status != 400 || !strings.Contains(text, "At most 2 image(s) may be provided in one prompt.") {
		t.Errorf("%d %s", status, text)
	}
	private := []any{textPart("x"), imagePart("http://10.0.0.1/a.png")}
	status, text = s.post(completions, newRequest(vllmModel, private, nil))
	if status != 400 || !strings.Contains(text, "address that is not allowed") ||
		!strings.Contains(text, `"param":"messages[0].content[1]"`) {
		t.Errorf("%d %s", status, text)
	}
}
