package openai

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"retort/orchestrator/chat"
)

// Service answers chat completions over the chat API's use case.
type Service struct {
	chat *chat.Service
	now  func() time.Time
}

// New returns the interface to a chat service.
func New(service *chat.Service) *Service { return &Service{chat: service, now: time.Now} }

// Complete answers in one piece.
func (s *Service) Complete(ctx context.Context, r Request) (Completion, error) {
	answer, err := s.chat.Answer(ctx, r.conversation())
	if err != nil {
		return Completion{}, err
	}
	choices := make([]Choice, answer.Choices)
	texts := make([]strings.Builder, answer.Choices)
	for chunk, err := range answer.Chunks() {
		if err != nil {
			return Completion{}, err
		}
		choice := &choices[chunk.Choice]
		texts[chunk.Choice].WriteString(chunk.Text)
		choice.Logprobs = joined(choice.Logprobs, chunk.Logprobs)
		if chunk.Finish != "" {
			choice.FinishReason = chunk.Finish
			choice.StopReason = chunk.Stop
		}
	}
	for i := range choices {
		choices[i].Index = i
		choices[i].Message = Written{Role: "assistant", Content: texts[i].String()}
	}
	return Completion{
		ID: newID(), Object: "chat.completion", Created: s.now().Unix(), Model: answer.Model,
		Choices: choices, Usage: usageOf(answer),
	}, nil
}

// usageOf is nil, which is null, where tokens cannot be counted.
func usageOf(a *chat.Answer) *Usage {
	u, counted := a.Usage()
	if !counted {
		return nil
	}
	return &Usage{PromptTokens: u.Prompt, CompletionTokens: u.Completion, TotalTokens: u.Prompt + u.Completion}
}

// newID returns an id that no other answer has.
func newID() string {
	var raw [16]byte
	rand.Read(raw[:]) // never fails
	return "chatcmpl-" + hex.EncodeToString(raw[:])
}
