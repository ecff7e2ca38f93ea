package openai

import (
	"cmp"
	"slices"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
)

// Streams reports whether the request is for a stream.
func (p Parameters) Streams() bool { return isTrue(p.Stream) }

func isTrue(b *bool) bool { return b != nil && *b }

// conversation converts a valid request with its plan.
func (r *ChatRequest) conversation(p tools.Plan) chat.Conversation {
	c := chat.Conversation{
		Model:              r.Model,
		Field:              "messages",
		Sampling:           r.sampling(),
		Stream:             r.Streams(),
		ContinueFinal:      isTrue(r.ContinueFinalMessage),
		Plan:               p,
		NoGenerationPrompt: r.AddGenerationPrompt != nil && !*r.AddGenerationPrompt,
	}
	c.Sampling.Guide = p.Guide
	for i, m := range r.Messages {
		c.Messages = append(c.Messages, m.chatMessage("content", "messages", i))
	}
	return c
}

// chatMessage converts the message at path in the body, whose content is the given member.
func (m *Message) chatMessage(member string, path ...any) chat.Message {
	message := chat.Message{
		Role:  m.Role,
		Parts: chat.PrefixImagePaths(m.Content, append(slices.Clip(path), member)...),
		Path:  path,
	}
	switch m.Role {
	case "developer":
		message.Role = "system" // its older name
	case "tool", "function":
		message.Role = "user"
		result := &chat.Result{ID: *cmp.Or(m.ToolCallID, new(""))}
		if len(message.Parts) == 0 {
			message.Parts = []chat.Part{{}}
		}
		for i := range message.Parts {
			message.Parts[i].Result = result
		}
	}
	for _, call := range m.ToolCalls {
		called := chat.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}
		message.Parts = append(message.Parts, chat.Part{Call: &called})
	}
	return message
}

// sampling returns the engine's settings without guide.
func (r *ChatRequest) sampling() engine.Sampling {
	s := r.Parameters.sampling()
	s.MaxTokens = cmp.Or(r.MaxCompletionTokens, r.MaxTokens)
	if isTrue(r.Logprobs) {
		s.Logprobs = cmp.Or(r.TopLogprobs, new(0))
	}
	return s
}

// sampling returns the engine's settings without log probabilities and guide.
func (p *Parameters) sampling() engine.Sampling {
	return engine.Sampling{
		N:                 *cmp.Or(p.N, new(1)),
		MaxTokens:         p.MaxTokens,
		MinTokens:         p.MinTokens,
		Temperature:       p.Temperature,
		TopP:              p.TopP,
		TopK:              p.TopK,
		MinP:              p.MinP,
		PresencePenalty:   p.PresencePenalty,
		FrequencyPenalty:  p.FrequencyPenalty,
		RepetitionPenalty: p.RepetitionPenalty,
		Seed:              p.Seed,
		Stop:              p.Stop,
		StopTokenIDs:      p.StopTokenIDs,
		IgnoreEOS:         p.IgnoreEOS,
		IncludeStop:       isTrue(p.IncludeStop),
		SkipSpecialTokens: p.SkipSpecialTokens,
	}
}
