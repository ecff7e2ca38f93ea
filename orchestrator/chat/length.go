package chat

import (
	"strings"

	"retort/orchestrator/chat/engine"
	"retort/tokenizers"
)

// fit counts the prompt where the model has a tokenizer, refuses one that is too long, and sets how long the answer may
// be.
func (m *Model) fit(p *engine.Prompt, images int) error {
	wanted := p.Sampling.MaxTokens
	room := m.MaxLength
	if m.tokenizer != nil {
		if m.surelyTooLong(p.Text) {
			return Refuse(nil, []any{p.Field}, "This model's maximum context length is %d tokens. However, you requested more than %d tokens in the messages. "+
				"Please reduce the length of the messages.", m.MaxLength, m.MaxLength)
		}
		p.InputTokens = m.count(p.Text) + images*m.ImageTokens
		room -= p.InputTokens
	}
	switch {
	case room < 1 && wanted == nil:
		return engine.TooLong(p.Field, m.MaxLength, p.InputTokens, 0)
	case room < 1, wanted != nil && *wanted > room && !m.Clamp && m.tokenizer != nil:
		return engine.TooLong(p.Field, m.MaxLength, p.InputTokens, *wanted)
	}
	most := room
	switch {
	case wanted != nil:
		most = min(room, *wanted)
	case m.DefaultAnswer > 0:
		most = min(room, m.DefaultAnswer)
	}
	p.Sampling.MaxTokens = &most
	return nil
}

// mostBytesPerToken is above what tokens of any natural text have.
const mostBytesPerToken = 64

// surelyTooLong reports whether the beginning of a very long text alone is too long for the model. Tokenising 15 MB
// would take 700 MB of memory, to count tokens of which only "too many" is of interest.
func (m *Model) surelyTooLong(text string) bool {
	most := m.MaxLength * mostBytesPerToken
	if len(text) <= most {
		return false
	}
	return m.count(strings.ToValidUTF8(text[:most], "")) > m.MaxLength
}

// count is the number of tokens of a text, special ones included; 0 without a tokenizer.
func (m *Model) count(text string) int {
	if m.tokenizer == nil {
		return 0
	}
	var e tokenizers.Encoding
	if err := m.tokenizer.EncodeInto(&e, text, tokenizers.Options{}); err != nil {
		return 0
	}
	return len(e.IDs)
}
