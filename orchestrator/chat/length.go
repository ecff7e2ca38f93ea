package chat

import (
	"cmp"
	"strings"

	"retort/orchestrator/chat/engine"
	"retort/tokenizers"
)

// limitTokens sets the request's MaxTokens: the requested number, else the model's default, else what fits. It refuses
// a prompt that is too long, and an answer that is too long unless the model clamps it. Without a tokenizer the
// prompt's length is unknown, and MaxTokens is at most the model's maxLength.
func (m *Model) limitTokens(r *engine.Request, images int) error {
	requested := r.Sampling.MaxTokens
	room := m.maxLength
	if m.tokenizer != nil {
		if err := m.refuseFarTooLong(r.Field, r.Prompt); err != nil {
			return err
		}
		r.PromptTokens = m.countTokens(r.Prompt) + images*m.imageTokens
		room -= r.PromptTokens
	}
	maxTokens := room
	switch {
	case requested != nil:
		maxTokens = *requested
	case m.defaultMaxTokens > 0:
		maxTokens = m.defaultMaxTokens
	}
	mayClamp := requested == nil || m.clamp || m.tokenizer == nil
	if room < 1 || maxTokens > room && !mayClamp {
		return engine.TooLong(r.Field, m.maxLength, r.PromptTokens, *cmp.Or(requested, new(0)))
	}
	r.Sampling.MaxTokens = new(min(room, maxTokens))
	return nil
}

// refuseFarTooLong refuses a prompt that is too long to be tokenized as a whole.
func (m *Model) refuseFarTooLong(field, prompt string) error {
	if !m.isSurelyTooLong(prompt) {
		return nil
	}
	return Refuse([]any{field},
		"This model's maximum context length is %d tokens. However, you requested more than %d tokens in the "+
			"messages. Please reduce the length of the messages.", m.maxLength, m.maxLength)
}

// maxBytesPerToken is an upper bound on the average length of a token in natural text.
const maxBytesPerToken = 64

// isSurelyTooLong reports whether a prefix of a very long text already exceeds the model's maxLength. To tokenize all
// of 15 MB would take 700 MB of memory.
func (m *Model) isSurelyTooLong(text string) bool {
	prefix := m.maxLength * maxBytesPerToken
	if len(text) <= prefix {
		return false
	}
	return m.countTokens(strings.ToValidUTF8(text[:prefix], "")) > m.maxLength
}

// countTokens returns the number of tokens of a text, special tokens included; 0 without a tokenizer.
func (m *Model) countTokens(text string) int {
	if m.tokenizer == nil {
		return 0
	}
	e, err := m.tokenizer.Encode(text, tokenizers.Options{})
	if err != nil {
		return 0
	}
	return len(e.IDs)
}
