package chat

import (
	"strings"

	"retort/orchestrator/chat/engine"
	"retort/tokenizers"
)

// limitTokens sets the prompt's MaxTokens to what the request asks for, the model's default or what fits. It refuses a
// prompt, or unless the model clamps an answer, that is too long. Without a tokenizer the prompt's length is unknown, and
// MaxTokens is at most the model's MaxLength.
func (m *Model) limitTokens(p *engine.Prompt, images int) error {
	requested := p.Sampling.MaxTokens
	room := m.MaxLength
	if m.tokenizer != nil {
		if m.isSurelyTooLong(p.Text) {
			return Refuse(nil, []any{p.Field},
				"This model's maximum context length is %d tokens. However, you requested more than %d tokens in the "+
					"messages. Please reduce the length of the messages.", m.MaxLength, m.MaxLength)
		}
		p.InputTokens = m.countTokens(p.Text) + images*m.ImageTokens
		room -= p.InputTokens
	}
	switch {
	case room < 1 && requested == nil:
		return engine.TooLong(p.Field, m.MaxLength, p.InputTokens, 0)
	case room < 1, requested != nil && *requested > room && !m.Clamp && m.tokenizer != nil:
		return engine.TooLong(p.Field, m.MaxLength, p.InputTokens, *requested)
	}
	maxTokens := room
	switch {
	case requested != nil:
		maxTokens = min(room, *requested)
	case m.DefaultMaxTokens > 0:
		maxTokens = min(room, m.DefaultMaxTokens)
	}
	p.Sampling.MaxTokens = &maxTokens
	return nil
}

// maxBytesPerToken is an upper bound on the average for natural text.
const maxBytesPerToken = 64

// isSurelyTooLong reports whether a prefix of a very long text already exceeds the model's MaxLength. It spares
// tokenizing all of it: 15 MB would take 700 MB of memory.
func (m *Model) isSurelyTooLong(text string) bool {
	prefix := m.MaxLength * maxBytesPerToken
	if len(text) <= prefix {
		return false
	}
	return m.countTokens(strings.ToValidUTF8(text[:prefix], "")) > m.MaxLength
}

// countTokens returns the number of tokens of a text, special tokens included; 0 without a tokenizer.
func (m *Model) countTokens(text string) int {
	if m.tokenizer == nil {
		return 0
	}
	var e tokenizers.Encoding
	if err := m.tokenizer.EncodeInto(&e, text, tokenizers.Options{}); err != nil {
		return 0
	}
	return len(e.IDs)
}
