package chat_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"retort/orchestrator/chat/anthropic"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/triton/tritontest"
	"retort/tokenizers"
)

// llama2 is a small tokenizer of Llama 2's kind: it puts <s> before a text.
const llama2 = "../../tokenizers/testdata/bpe-llama2/tokenizer.json.gz"

// serveTokenizer starts the API with the scripted models. The first has a tokenizer that counts its tokens.
func serveTokenizer(t *testing.T) *testServer {
	t.Helper()
	return serveWith(t, withTokenizer)
}

const withTokenizer = `parameters { key: "tokenizer" value { string_value: "tokenizer.json" } }` + "\n" +
	`parameters { key: "image_tokens" value { string_value: "100" } }` + "\n"

// serveWith starts the API with the scripted models. The entry of the first has a tokenizer.json, and parameters are
// added to it. That of the second has one that is not supported.
func serveWith(t *testing.T, parameters string) *testServer {
	t.Helper()
	repository := t.TempDir()
	if err := os.CopyFS(repository, os.DirFS("testdata/models")); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(repository, scriptedModels[0])
	unzip(t, llama2, filepath.Join(folder, "tokenizer.json"))
	config, err := os.OpenFile(filepath.Join(folder, "config.pbtxt"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer config.Close()
	if _, err := config.WriteString(parameters); err != nil {
		t.Fatal(err)
	}
	unsupported := filepath.Join(repository, scriptedModels[1], "tokenizer.json")
	if err := os.WriteFile(unsupported, []byte(`{"version": "2.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	models := []tritontest.Model{scriptedModelAt(t, repository, scriptedModels[0])}
	for _, name := range scriptedModels[1:] {
		models = append(models, scriptedModel(t, name))
	}
	return serve(t, tritontest.Start(t, models...).URL(), repository, nil)
}

func unzip(t *testing.T, from, to string) {
	t.Helper()
	file, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTokenize compares both forms of a request with the tokenizer, and turns the ids into the text again.
func TestTokenize(t *testing.T) {
	s := serveTokenizer(t)
	file := filepath.Join(t.TempDir(), "tokenizer.json")
	unzip(t, llama2, file)
	tokenizer, err := tokenizers.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	const text = "This is a test prompt. vllm1"
	turns := []object{{"role": "user", "content": "Hi there!"}, {"role": "assistant", "content": "Nice to meet you!"}}
	chat := "<user>Hi there!<end><assistant>Nice to meet you!<end>"
	for name, test := range map[string]struct {
		request object
		text    string
		plain   bool
	}{
		"prompt":              {object{"prompt": text}, text, false},
		"prompt, plain":       {object{"prompt": text, "add_special_tokens": false}, text, true},
		"messages":            {object{"messages": turns}, chat + "<assistant>", true},
		"messages, special":   {object{"messages": turns, "add_special_tokens": true}, chat + "<assistant>", false},
		"messages, no answer": {object{"messages": turns, "add_generation_prompt": false}, chat, true},
		"continued": {
			object{"messages": turns, "add_generation_prompt": false, "continue_final_message": true},
			strings.TrimSuffix(chat, "<end>"), true,
		},
		"image": {
			object{"messages": []object{{"role": "user", "content": []object{imagePart("data:,"), textPart("a")}}}},
			"<user><image>a<end><assistant>", true,
		},
	} {
		test.request["model"] = vllmModel
		test.request["return_token_strs"] = true
		got := postOK[openai.Tokenized](s, openai.TokenizePath, test.request)
		want, err := tokenizer.Encode(test.text, tokenizers.Options{Plain: test.plain})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.IDs, got.Tokens); diff != "" || got.Count != len(want.IDs) || got.MaxModelLen != 512 {
			t.Errorf("%s: %+v (-want +got):\n%s", name, got, diff)
		}
		for i, id := range got.Tokens {
			if token, _ := tokenizer.Token(id); token != (*got.TokenStrs)[i] {
				t.Errorf("%s: token %d is %q, want %q", name, i, (*got.TokenStrs)[i], token)
			}
		}
		back := postOK[openai.Detokenized](s, openai.DetokenizePath, object{"model": vllmModel, "tokens": got.Tokens})
		if strings.TrimPrefix(back.Prompt, "<s> ") != test.text {
			t.Errorf("%s: the ids are those of %q, want %q", name, back.Prompt, test.text)
		}
	}
	if got := postOK[openai.Tokenized](s, openai.TokenizePath, object{"model": vllmModel, "prompt": ""}); got.TokenStrs != nil {
		t.Errorf("token_strs that were not requested: %v", got.TokenStrs)
	}
}

func TestTokenizeRefusals(t *testing.T) {
	s := serveTokenizer(t)
	for _, test := range []struct {
		path, body, param, text string
		status                  int
	}{
		{"/tokenize", `{"model": "test/scripted-llmapi", "prompt": "a"}`, "model", "has no tokenizer here", 400},
		{"/detokenize", `{"model": "test/scripted-llmapi", "tokens": [1]}`, "model", "has no tokenizer here", 400},
		{"/tokenize", `{"model": "test/scripted-ensemble", "prompt": "a"}`, "model", "is not supported here", 400},
		{"/tokenize", `{"model": "nobody/nothing", "prompt": "a"}`, "model", "does not exist", 404},
		{"/tokenize", `{"prompt": "a"}`, "model", "Field required", 400}, // several models are served
		{"/tokenize", `{"model": "test/scripted-vllm"}`, "prompt", "Field required", 400},
		{"/tokenize", `{"model": "test/scripted-vllm", "prompt": "a", "messages": []}`, "messages", "only one", 400},
		{"/tokenize", `{"model": "test/scripted-vllm", "messages": []}`, "messages", "at least 1 item", 400},
		{"/tokenize", `{"model": "test/scripted-vllm", "messages": [{"role": "u", "content": "a"}]}`, "messages[0].role",
			"Input should be", 400},
		{"/tokenize", `{"model": "test/scripted-vllm", "messages": [{"role": "user", "content": "a"}],
			"continue_final_message": true, "add_generation_prompt": true}`, "continue_final_message", "Cannot set both", 400},
		{"/tokenize", `{"model": "test/scripted-vllm", "prompt": "a", "chat_template": "b"}`, "chat_template",
			"not supported", 400},
		{"/tokenize", `{"model": "test/scripted-vllm", "prompt": "` + strings.Repeat("word ", 100_000) + `"}`, "prompt",
			"must not be longer than 32768 bytes", 400},
		{"/detokenize", `{"model": "test/scripted-vllm", "tokens": [1, 2147483647]}`, "tokens[1]", "out of vocabulary", 400},
		{"/detokenize", `{"model": "test/scripted-vllm", "tokens": [1, -1, 2147483648]}`, "tokens[1]",
			"greater than or equal to 0", 400},
		{"/detokenize", `{"model": "test/scripted-vllm", "tokens": ["a"]}`, "tokens[0]", "valid integer", 400},
		{"/detokenize", `{"model": "test/scripted-vllm"}`, "tokens", "Field required", 400},
	} {
		status, text := s.post(test.path, test.body)
		if status != test.status || !strings.Contains(text, `"param":"`+test.param+`"`) || !strings.Contains(text, test.text) {
			t.Errorf("%s %.200s: %d %s", test.path, test.body, status, text)
		}
	}
}

// TestTokenizerFile has a tokenizer.json that no parameter names: the engine counts the tokens of prompts and answers.
func TestTokenizerFile(t *testing.T) {
	s := serveWith(t, "")
	text := postOK[openai.Tokenized](s, openai.TokenizePath, object{"model": vllmModel, "prompt": "a b"})
	back := postOK[openai.Detokenized](s, openai.DetokenizePath, object{"model": vllmModel, "tokens": text.Tokens})
	if back.Prompt != "<s> a b" {
		t.Errorf("%+v are the ids of %q", text, back.Prompt)
	}
	request := object{"model": vllmModel, "messages": []object{{"role": "user", "content": "a b"}}}
	if got := postOK[anthropic.Count](s, "/v1/messages/count_tokens", request); got.InputTokens != 2 {
		t.Errorf("%d tokens, want the 2 words that the scripted engine counts", got.InputTokens)
	}
}

// TestCountMessageTokens checks that a model with a tokenizer is not called to count, and that images count.
func TestCountMessageTokens(t *testing.T) {
	s := serveTokenizer(t)
	request := object{"model": vllmModel, "messages": []object{{"role": "user", "content": "a b"}}}
	text := postOK[openai.Tokenized](s, openai.TokenizePath, object{
		"model": vllmModel, "messages": request["messages"], "add_special_tokens": true,
	})
	if got := postOK[anthropic.Count](s, "/v1/messages/count_tokens", request); got.InputTokens != text.Count {
		t.Errorf("%d tokens, want %d", got.InputTokens, text.Count)
	}
	image := object{"type": "image", "source": object{"type": "url", "url": "data:,"}} // not loaded
	request["messages"] = []object{{"role": "user", "content": []object{image, textPart("a b")}}}
	if got := postOK[anthropic.Count](s, "/v1/messages/count_tokens", request); got.InputTokens < text.Count+100 {
		t.Errorf("%d tokens with an image, want more than %d", got.InputTokens, text.Count+100)
	}
	request["messages"] = []object{{"role": "user", "content": []object{image, image, image}}}
	status, answer := s.post("/v1/messages/count_tokens", request)
	if status != 400 || !strings.Contains(answer, "messages: At most 2 image(s)") {
		t.Errorf("%d %s", status, answer)
	}
}
