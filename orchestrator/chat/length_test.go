package chat

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// TestLimitTokens checks how long a prompt and its answer may be, for a model with a tokenizer.
func TestLimitTokens(t *testing.T) {
	tokenizer, err := tokenizers.Load("../../model_repository/minilm_embed/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	ten := strings.TrimSpace(strings.Repeat("word ", 10)) // 12 tokens with [CLS] and [SEP]
	for name, test := range map[string]struct {
		model     Model
		text      string
		images    int
		requested *int
		want      int // MaxTokens
		err       string
	}{
		"room left":       {Model{maxLength: 20}, ten, 0, nil, 8, ""},
		"requested":       {Model{maxLength: 20}, ten, 0, new(5), 5, ""},
		"model's default": {Model{maxLength: 20, defaultMaxTokens: 3}, ten, 0, nil, 3, ""},
		"images count":    {Model{maxLength: 20, imageTokens: 4}, ten, 1, nil, 4, ""},
		"answer too long": {Model{maxLength: 20}, ten, 0, new(9), 0,
			"This model's maximum context length is 20 tokens. However, you requested 21 tokens (12 in the messages, 9 in the completion). Please reduce the length of the messages or completion."},
		"largest answer": {Model{maxLength: 20}, ten, 0, new(math.MaxInt), 0,
			"you requested 9223372036854775819 tokens (12 in the messages, 9223372036854775807 in the completion)"},
		"answer clamped": {Model{maxLength: 20, clamp: true}, ten, 0, new(1024), 8, ""},
		"prompt too long": {Model{maxLength: 12}, ten, 0, nil, 0,
			"This model's maximum context length is 12 tokens. However, you requested 12 tokens in the messages. Please reduce the length of the messages."},
		"far too long": {Model{maxLength: 20}, strings.Repeat("word ", 100_000), 0, nil, 0,
			"This model's maximum context length is 20 tokens. However, you requested more than 20 tokens in the messages."},
		"long text of few tokens": {Model{maxLength: 20}, ten + strings.Repeat(" ", 5000), 0, nil, 8, ""},
		"prompt too long to clamp": {Model{maxLength: 12, clamp: true}, ten, 0, new(5), 0,
			"you requested 17 tokens (12 in the messages, 5 in the completion)"},
	} {
		t.Run(name, func(t *testing.T) {
			test.model.tokenizer = tokenizer
			r := engine.Request{Prompt: test.text, Sampling: engine.Sampling{MaxTokens: test.requested}}
			err := test.model.limitTokens(&r, test.images)
			switch {
			case test.err == "" && (err != nil || *r.Sampling.MaxTokens != test.want):
				t.Errorf("got %v, MaxTokens %v, want %d", err, r.Sampling.MaxTokens, test.want)
			case test.err != "" && (fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got %v, want %s", err, test.err)
			}
		})
	}
}

// TestLongPromptsTakeLittleMemory checks that only a prefix of 15 MB is tokenized.
func TestLongPromptsTakeLittleMemory(t *testing.T) {
	tokenizer, err := tokenizers.Load("../../model_repository/minilm_embed/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	m := Model{maxLength: 4096, tokenizer: tokenizer}
	r := engine.Request{Prompt: strings.Repeat("words of a text ", 1<<20)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := m.limitTokens(&r, 0); fault.KindOf(err) != fault.Invalid {
		t.Errorf("got %v, want an Invalid fault", err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d MB were used", used>>20)
	}
}
