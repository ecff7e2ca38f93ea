package openai

import (
	"context"
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
	outcomes, err := gather(answer)
	if err != nil {
		return Completion{}, err
	}
	plan := r.plan()
	choices := make([]Choice, len(outcomes))
	for i, o := range outcomes {
		choices[i] = Choice{Index: i, Logprobs: o.logprobs, FinishReason: o.finish, StopReason: o.stop}
		choices[i].Message = Written{Role: "assistant", Content: o.text, ToolCalls: plan.calls(o.text)}
		if len(choices[i].Message.ToolCalls) > 0 && o.finish == "stop" {
			choices[i].FinishReason = calledTools
		}
	}
	return Completion{
		ID: "chatcmpl-" + randomHex(), Object: "chat.completion", Created: s.now().Unix(), Model: answer.Model,
		Choices: choices, Usage: usageOf(answer), MaxTokens: answer.Cut,
	}, nil
}

// calledTools is the finish reason of an answer that calls tools.
const calledTools = "tool_calls"

// outcome is one choice as a whole.
type outcome struct {
	text     string
	logprobs *TokenLogprobs
	finish   string
	stop     *string
}

// gather waits for all choices of an answer.
func gather(answer *chat.Answer) ([]outcome, error) {
	outcomes := make([]outcome, answer.Choices)
	texts := make([]strings.Builder, answer.Choices)
	for chunk, err := range answer.Chunks() {
		if err != nil {
			return nil, err
		}
		o := &outcomes[chunk.Choice]
		texts[chunk.Choice].WriteString(chunk.Text)
		o.logprobs = joined(o.logprobs, chunk.Logprobs)
		if chunk.Finish != "" {
			o.finish = chunk.Finish
			o.stop = chunk.Stop
		}
	}
	for i := range outcomes {
		outcomes[i].text = texts[i].String()
	}
	return outcomes, nil
}

// usageOf is nil, which is null, where tokens cannot be counted.
func usageOf(a *chat.Answer) *Usage {
	u, counted := a.Usage()
	if !counted {
		return nil
	}
	return &Usage{PromptTokens: u.Prompt, CompletionTokens: u.Completion, TotalTokens: u.Prompt + u.Completion}
}
