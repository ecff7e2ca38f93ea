package openai

import (
	"slices"

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
		Field:    "messages",
		Sampling: r.sampling(),
		Stream:   r.Streams(),
		Continue: isTrue(r.ContinueFinalMessage),
		Closed:   r.AddGenerationPrompt != nil && !*r.AddGenerationPrompt,
	}
	c.Tools = r.plan().offered
	for i, m := range r.Messages {
		c.Messages = append(c.Messages, m.turn("content", "messages", i))
	}
	return c
}

// turn is the message as models know it. place is its path in the body, member the member that holds its content. Calls and
// what they returned are said in words: few templates know either.
func (m *Message) turn(member string, place ...any) chat.Message {
	turn := chat.Message{Role: m.Role, Parts: chat.PlaceImages(m.Content, append(slices.Clip(place), member)...), Place: place}
	switch m.Role {
	case "developer":
		turn.Role = "system" // its older name
	case "tool", "function":
		turn.Role = "user"
		turn.Parts = append([]chat.Part{{Text: "The tool returned:"}}, turn.Parts...)
	}
	for _, call := range m.ToolCalls {
		turn.Parts = append(turn.Parts, chat.Part{Text: "Call of " + call.Function.Name + ": " + call.Function.Arguments})
	}
	return turn
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
	s.Guide = r.plan().guide
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
