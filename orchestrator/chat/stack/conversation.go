package stack

import (
	"bytes"
	"cmp"
	"encoding/json"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/wire"
)

// Streams reports whether the request is for a stream. Only the body counts, because a client in use always accepts
// text/event-stream.
func (r Request) Streams() bool { return r.Stream != nil && *r.Stream }

// conversation converts a valid request.
func (r *Request) conversation() chat.Conversation {
	c := chat.Conversation{
		Model:    cmp.Or(r.Model, r.ModelID),
		Field:    "messages",
		Stream:   r.Streams(),
		Sampling: r.Sampling.settings(),
	}
	if r.Logprobs != nil {
		c.Sampling.Logprobs = cmp.Or(r.Logprobs.TopK, new(0))
	}
	for i, m := range r.Messages {
		content := chat.PrefixImagePaths(m.Content, "messages", i, "content")
		context := chat.PrefixImagePaths(m.Context, "messages", i, "context")
		c.Messages = append(c.Messages, chat.Message{
			Role:  m.Role,
			Parts: append(content, context...),
			Path:  []any{"messages", i},
		})
	}
	return c
}

// defaultTopP is the published default of the strategy top_p.
const defaultTopP = 0.95

// settings returns the engine's settings. Without a strategy the answer is greedy. A nil s has the defaults.
func (s *Sampling) settings() engine.Sampling {
	out := engine.Sampling{N: 1, Temperature: new(0.0)}
	if s == nil {
		return out
	}
	if s.MaxTokens != nil && *s.MaxTokens > 0 {
		out.MaxTokens = s.MaxTokens
	}
	out.Stop = s.Stop
	out.RepetitionPenalty = s.RepetitionPenalty
	switch s.Strategy.Type {
	case "top_p":
		out.Temperature = s.temperature()
		out.TopP = cmp.Or(s.topP(), new(defaultTopP))
	case "top_k":
		out.Temperature = s.temperature()
		out.TopK = s.topK()
	}
	return out
}

// A setting within the strategy, as in the newer version, wins over the same setting beside it, as in the older one.
func (s *Sampling) temperature() *float64 { return cmp.Or(s.Strategy.Temperature, s.Temperature) }
func (s *Sampling) topP() *float64        { return cmp.Or(unlessZero(s.Strategy.TopP), unlessZero(s.TopP)) }
func (s *Sampling) topK() *int            { return cmp.Or(unlessZero(s.Strategy.TopK), unlessZero(s.TopK)) }

// unlessZero returns nil for 0, which clients of the older version send for settings that are not set.
func unlessZero[T int | float64](value *T) *T {
	if value == nil || *value == 0 {
		return nil
	}
	return value
}

// Strategy is "greedy", "top_p" or "top_k". In the newer version it has settings.
type Strategy struct {
	Type        string   `json:"type"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	TopK        *int     `json:"top_k"`
}

// UnmarshalJSON decodes "greedy" or {"type": "top_p", "top_p": 0.9, …}.
func (s *Strategy) UnmarshalJSON(data []byte) error {
	type plain Strategy // without UnmarshalJSON
	var object plain
	err := json.Unmarshal(data, &object.Type)
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		err = json.Unmarshal(data, &object)
	}
	switch {
	case err != nil:
		return &wire.Mismatch{
			Rule:    "value_error",
			Message: "Input should be a sampling strategy: greedy, top_p or top_k",
		}
	case object.Type != "greedy" && object.Type != "top_p" && object.Type != "top_k":
		return &wire.Mismatch{Rule: "literal_error", Message: "Input should be 'greedy', 'top_p' or 'top_k'"}
	}
	*s = Strategy(object)
	return nil
}
