package openai

import (
	"cmp"
	"slices"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
)

// Streams reports whether the request is for a stream.
func (r Request) Streams() bool { return isTrue(r.Stream) }

func isTrue(b *bool) bool { return b != nil && *b }

// conversation converts a valid request.
func (r *Request) conversation() chat.Conversation {
	c := chat.Conversation{
		Model:              r.Model,
		Field:              "messages",
		Sampling:           r.sampling(),
		Stream:             r.Streams(),
		ContinueFinal:      isTrue(r.ContinueFinalMessage),
		OffersTools:        r.plan().optional,
		NoGenerationPrompt: r.AddGenerationPrompt != nil && !*r.AddGenerationPrompt,
	}
	for i, m := range r.Messages {
		c.Messages = append(c.Messages, m.chatMessage("content", "messages", i))
	}
	return c
}

// chatMessage converts the message at path in the body, whose content is the given member. Tool calls and results become
// plain text, because few chat templates support them.
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
		message.Parts = append([]chat.Part{{Text: "The tool returned:"}}, message.Parts...)
	}
	for _, call := range m.ToolCalls {
		text := "Call of " + call.Function.Name + ": " + call.Function.Arguments
		message.Parts = append(message.Parts, chat.Part{Text: text})
	}
	return message
}

func (r *Request) sampling() engine.Sampling {
	s := engine.Sampling{
		N:                 *cmp.Or(r.N, new(1)),
		MaxTokens:         cmp.Or(r.MaxCompletionTokens, r.MaxTokens),
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
		Guide:             r.plan().guide,
	}
	if isTrue(r.Logprobs) {
		s.Logprobs = cmp.Or(r.TopLogprobs, new(0))
	}
	return s
}
