package chat

import (
	"retort/orchestrator/chat/engine"
	"retort/tokenizers"
)

// fit counts the prompt where the model has a tokenizer, refuses one that is
// too long, and sets how long the answer may be.
func (m *Model) fit(p *engine.Prompt, images int) error {
	wanted := p.Sampling.MaxTokens
	room := m.MaxLength
	if m.tokenizer != nil {
		p.InputTokens = m.count(p.Text) + images*m.ImageTokens
		room -= p.InputTokens
	}
	switch {
	case room < 1 && wanted == nil:
		return engine.TooLong(m.MaxLength, p.InputTokens, 0)
	case room < 1, wanted != nil && *wanted > room && !m.Clamp && m.tokenizer != nil:
		return engine.TooLong(m.MaxLength, p.InputTokens, *wanted)
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

// count is the number of tokens of a text, special ones included; 0 without a
// tokenizer.
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
