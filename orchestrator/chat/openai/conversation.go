package openai

import (
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
)

// Streams reports whether the answer is wanted as events.
func (r Request) Streams() bool { return isTrue(r.Stream) }

func isTrue(b *bool) bool { return b != nil && *b }

// conversation is what r asks for.
func (r *Request) conversation() chat.Conversation {
	c := chat.Conversation{
		Model:    r.Model,
		Sampling: r.sampling(),
		Stream:   r.Streams(),
		Continue: isTrue(r.ContinueFinalMessage),
		Closed:   r.AddGenerationPrompt != nil && !*r.AddGenerationPrompt,
	}
	for _, m := range r.Messages {
		role := m.Role
		if role == "developer" {
			role = "system" // its older name
		}
		c.Messages = append(c.Messages, chat.Message{Role: role, Parts: m.Content})
	}
	return c
}

// sampling are the settings of r.
func (r *Request) sampling() engine.Sampling {
	s := engine.Sampling{
		N:                 1,
		MaxTokens:         r.MaxTokens,
		MinTokens:         r.MinTokens,
		Temperature:       r.Temperature,
		TopP:              r.TopP,
		TopK:              r.TopK,
		MinP:              r.MinP,
		PresencePenalty:   r.PresencePenalty,
		FrequencyPenalty:  r.FrequencyPenalty,
		RepetitionPenalty: r.RepetitionPenalty,
		Seed:              r.Seed,
		Stop:              r.Stop,
		StopTokenIDs:      r.StopTokenIDs,
		IgnoreEOS:         r.IgnoreEOS,
		IncludeStop:       isTrue(r.IncludeStop),
		SkipSpecialTokens: r.SkipSpecialTokens,
	}
	if r.N != nil {
		s.N = *r.N
	}
	if r.MaxCompletionTokens != nil {
		s.MaxTokens = r.MaxCompletionTokens
	}
	if isTrue(r.Logprobs) {
		top := 0
		if r.TopLogprobs != nil {
			top = *r.TopLogprobs
		}
		s.Logprobs = &top
	}
	return s
}
