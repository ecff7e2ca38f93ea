package chat

import (
	"errors"
	"strings"
	"testing"

	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// TestFit holds how long a prompt and its answer may be, for a model whose
// tokens the gateway can count.
func TestFit(t *testing.T) {
	tokenizer, err := tokenizers.Load("../../model_repository/minilm_embed/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	ten := strings.TrimSpace(strings.Repeat("word ", 10)) // 12 tokens with the model's own two
	for name, test := range map[string]struct {
		model  Model
		text   string
		images int
		want   *int
		most   int
		err    string
	}{
		"room left":       {Model{MaxLength: 20}, ten, 0, nil, 8, ""},
		"asked":           {Model{MaxLength: 20}, ten, 0, new(5), 5, ""},
		"model's default": {Model{MaxLength: 20, Answer: 3}, ten, 0, nil, 3, ""},
		"images count":    {Model{MaxLength: 20, ImageTokens: 4}, ten, 1, nil, 4, ""},
		"answer too long": {Model{MaxLength: 20}, ten, 0, new(9), 0,
			"This model's maximum context length is 20 tokens. However, you requested 21 tokens (12 in the messages, 9 in the completion). Please reduce the length of the messages or completion."},
		"shortened": {Model{MaxLength: 20, Clamp: true}, ten, 0, new(1024), 8, ""},
		"prompt too long": {Model{MaxLength: 12}, ten, 0, nil, 0,
			"This model's maximum context length is 12 tokens. However, you requested 12 tokens in the messages. Please reduce the length of the messages."},
		"prompt too long, clamped": {Model{MaxLength: 12, Clamp: true}, ten, 0, new(5), 0, "you requested 17 tokens (12 in the messages, 5 in the completion)"},
	} {
		t.Run(name, func(t *testing.T) {
			test.model.tokenizer = tokenizer
			p := Prompt{Text: test.text, Sampling: Sampling{MaxTokens: test.want}}
			err := test.model.fit(&p, test.images)
			switch {
			case test.err == "" && (err != nil || *p.Sampling.MaxTokens != test.most):
				t.Errorf("%v, %v", err, p.Sampling.MaxTokens)
			case test.err != "" && (err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got %v, want %s", err, test.err)
			}
		})
	}
}

// TestStopper holds that text comes through whole and in order, however it
// is cut, and that a stop string never shows.
func TestStopper(t *testing.T) {
	const text = "caf\u00e9 \U0001f9ea EN END tail"
	for size := 1; size < 8; size++ {
		s := stopper{stops: []string{"END", "XX"}}
		shown := ""
		var hit *string
		for i := 0; i < len(text) && hit == nil; i += size {
			var show string
			show, hit = s.feed(text[i:min(i+size, len(text))])
			shown += show
		}
		if shown != "caf\u00e9 \U0001f9ea EN " || hit == nil || *hit != "END" {
			t.Errorf("by %d bytes: %q", size, shown)
		}
	}
	s := stopper{stops: []string{"END"}}
	show, _ := s.feed("a EN\xf0\x9f")
	if show != "a EN" || s.rest() != "\uFFFD" {
		t.Errorf("%q", show)
	}
}

// TestExplain holds which errors of engines are the request's fault.
func TestExplain(t *testing.T) {
	m := &Model{MaxLength: 512}
	for text, want := range map[string]string{
		"Error generating stream: The decoder prompt (length 900) is longer than the maximum model length of 512.": "you requested 900 tokens",
		"Prompt length (700) exceeds maximum input length (600). Set log level":                                    "maximum context length is 600 tokens. However, you requested 700",
		"This model's maximum context length is 512 tokens. However, your request has 530 input tokens.":           "you requested 530",
		"failed: InvalidRequest: three drawings are too many":                                                      "three drawings are too many",
		"At most 1 image(s) may be provided in one request.":                                                       "At most 1 image(s)",
		"cannot identify image file <_io.BytesIO object at 0x7f>":                                                  "cannot identify image file",
	} {
		f := fault.As(m.explain(fault.New(fault.Internal, "%s", text), Prompt{}))
		if f.Kind != fault.Invalid || !strings.Contains(f.Message, want) || strings.Contains(f.Message, "0x7f") {
			t.Errorf("%s: %v %s", text, f.Kind, f.Message)
		}
	}
	defect := errors.New("NoneType has no attribute lora_name")
	if fault.KindOf(m.explain(defect, Prompt{})) != fault.Internal {
		t.Error("a defect is shown to the client")
	}
	if fault.KindOf(m.explain(fault.New(fault.Invalid, "unexpected inference input"), Prompt{})) != fault.Internal {
		t.Error("tensors that do not fit are the client's fault")
	}
}
