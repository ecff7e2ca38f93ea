package chat

import (
	"context"
	"strings"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/vision"
)

// Ask returns the answer to one question without images, of at most maxTokens tokens, and why it ended. Tokens are the
// likeliest ones if the engine supports temperatures.
func (m *Model) Ask(ctx context.Context, question string, maxTokens int) (text, finish string, err error) {
	c := Conversation{
		Field:    "messages",
		Messages: []Message{{Role: "user", Parts: []Part{{Text: question}}}},
		Sampling: engine.Sampling{N: 1, MaxTokens: &maxTokens},
	}
	if m.engine.Supports("temperature") {
		c.Sampling.Temperature = new(0.0)
	}
	r := engine.Request{Field: c.Field, Sampling: c.Sampling, MaxLength: m.maxLength, Images: &vision.Images{}}
	if r.Prompt, err = m.render(c, 0); err != nil {
		return "", "", err
	}
	if err := m.limitTokens(&r, 0); err != nil {
		return "", "", err
	}
	var answer strings.Builder
	for chunk, err := range engine.Answer(ctx, m.engine, r) {
		if err != nil {
			return "", "", err
		}
		answer.WriteString(chunk.Text)
		finish = chunk.Finish
	}
	return answer.String(), finish, nil
}
