package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/triton"
)

// openWith opens the scripted model of vLLM's contract with a parameter added, and files beside its configuration.
func openWith(t *testing.T, name, value string, files map[string]string) (*Model, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/models/scripted_vllm")); err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "config.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	config.Name = "scripted_vllm"
	config.Parameters[name] = value
	return Opener(nil)(&triton.Model{Name: config.Name, Versions: []string{"1"}, Config: config, Dir: dir})
}

// TestDefaultSampling checks that the model's settings apply to requests that leave them out, and to those only.
func TestDefaultSampling(t *testing.T) {
	m, err := openWith(t, "default_sampling", `{"temperature": 0.7, "top_k": 20, "repetition_penalty": 1.05}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := m.defaults.Fill(engine.Sampling{N: 1, Temperature: new(0.0), TopP: new(0.9)})
	if *got.Temperature != 0 || *got.TopP != 0.9 || *got.TopK != 20 || *got.RepetitionPenalty != 1.05 ||
		got.MinP != nil {
		t.Errorf("got %+v", got)
	}
	for value, want := range map[string]string{
		`{"temperature": -1}`:     "parameter default_sampling: temperature must be non-negative",
		`{"top_p": 2}`:            "parameter default_sampling: top_p must be in (0, 1]",
		`{"temperatur": 1}`:       `parameter default_sampling must be a JSON object`,
		`[]`:                      `parameter default_sampling must be a JSON object`,
		`{"temperature": "0.7"}`:  `parameter default_sampling must be a JSON object`,
		`{"top_k": -5}`:           "parameter default_sampling: top_k must be -1",
		`{"max_new_tokens": 512}`: `parameter default_sampling must be a JSON object`,
	} {
		if _, err := openWith(t, "default_sampling", value, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", value, err, want)
		}
	}
}

// TestSpecialTokensOfTokenizerConfig checks that the special tokens in added_tokens_decoder are escaped in messages.
func TestSpecialTokensOfTokenizerConfig(t *testing.T) {
	m, err := openWith(t, "max_images", "2", map[string]string{"tokenizer_config.json": `{"added_tokens_decoder": {
		"7": {"content": "<|secret|>", "special": true}, "8": {"content": "<think>", "special": false}}}`})
	if err != nil {
		t.Fatal(err)
	}
	message := Message{Role: "user", Parts: []Part{{Text: "<|secret|> <think>"}}}
	got, err := m.render(Conversation{Messages: []Message{message}}, 0)
	if want := "< |secret|> <think>"; err != nil || !strings.Contains(got, want) {
		t.Errorf("got %q, %v; want it to have %q", got, err, want)
	}
	_, err = openWith(t, "max_images", "2", map[string]string{"tokenizer_config.json": `{"added_tokens_decoder": []}`})
	if err == nil || !strings.Contains(err.Error(), "tokenizer_config.json: added_tokens_decoder") {
		t.Errorf("a list: got %v", err)
	}
}
