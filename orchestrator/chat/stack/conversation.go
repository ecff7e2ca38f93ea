package stack

import (
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
)

// Streams reports whether the answer is wanted as events. Only the body counts: a client in use accepts
// text/event-stream always.
func (r Request) Streams() bool { return r.Stream != nil && *r.Stream }

// conversation is what r asks for.
func (r *Request) conversation() chat.Conversation {
	c := chat.Conversation{Model: r.Model, Field: "messages", Stream: r.Streams(), Sampling: r.Sampling.settings()}
	if c.Model == "" {
		c.Model = r.ModelID
	}
	if r.Logprobs != nil {
		top := 0
		if r.Logprobs.TopK != nil {
			top = *r.Logprobs.TopK
		}
		c.Sampling.Logprobs = &top
	}
	for i, m := range r.Messages {
		parts := append(chat.PlaceImages(m.Content, "messages", i, "content"), chat.PlaceImages(m.Context, "messages", i, "context")...)
		c.Messages = append(c.Messages, chat.Message{Role: m.Role, Parts: parts, Place: []any{"messages", i}})
	}
	return c
}

// settings are those that s asks for. Without a strategy the answer is greedy.
func (s *Sampling) settings() engine.Sampling {
	out := engine.Sampling{N: 1}
	if s == nil {
		out.Temperature = new(0.0)
		return out
	}
	if s.MaxTokens != nil && *s.MaxTokens > 0 {
		out.MaxTokens = s.MaxTokens
	}
	out.Stop = s.Stop
	out.RepetitionPenalty = s.RepetitionPenalty
	const usualTopP = 0.95 // of the published interface
	switch s.Strategy.Type {
	case "top_p":
		out.Temperature = s.temperature()
		out.TopP = first(s.topP(), new(usualTopP))
	case "top_k":
		out.Temperature = s.temperature()
		out.TopK = s.topK()
	default:
		out.Temperature = new(0.0)
	}
	return out
}

// A setting of the strategy, as the newer form has it, wins over the one beside it, as the older form has it.
func (s *Sampling) temperature() *float64 { return first(s.Strategy.Temperature, s.Temperature) }
func (s *Sampling) topP() *float64        { return first(unlessZero(s.Strategy.TopP), unlessZero(s.TopP)) }
func (s *Sampling) topK() *int            { return first(unlessZero(s.Strategy.TopK), unlessZero(s.TopK)) }

// unlessZero is nil for 0, which the older form writes where nothing is meant.
func unlessZero[T int | float64](value *T) *T {
	if value == nil || *value == 0 {
		return nil
	}
	return value
}

func first[T any](values ...*T) *T {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}
