package stack

import (
	"context"
	"strings"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
)

// Service answers stack-style requests over the chat API's use case.
type Service struct{ chat *chat.Service }

// New returns the interface to a chat service.
func New(service *chat.Service) *Service { return &Service{service} }

// Complete answers in one piece.
func (s *Service) Complete(ctx context.Context, r Request) (Response, error) {
	answer, err := s.chat.Answer(ctx, r.conversation())
	if err != nil {
		return Response{}, err
	}
	var text strings.Builder
	var logprobs []engine.Logprob
	written := Written{Role: "assistant", ToolCalls: []struct{}{}}
	for chunk, err := range answer.Chunks() {
		if err != nil {
			return Response{}, err
		}
		text.WriteString(chunk.Text)
		logprobs = append(logprobs, chunk.Logprobs...)
		if chunk.Finish != "" {
			written.StopReason = stopReason(chunk.Finish)
		}
	}
	written.Content = text.String()
	return Response{CompletionMessage: written, Logprobs: logprobsByToken(logprobs)}, nil
}

// stopReason is a finish reason in the words of this interface.
func stopReason(finish string) string {
	if finish == "length" {
		return "out_of_tokens"
	}
	return "end_of_turn"
}

// logprobsByToken is nil, which is null, for none.
func logprobsByToken(all []engine.Logprob) *[]Logprob {
	if len(all) == 0 {
		return nil
	}
	out := make([]Logprob, len(all))
	for i, l := range all {
		out[i].ByToken = map[string]float64{l.Token: l.Floored()}
		for _, other := range l.Top {
			out[i].ByToken[other.Token] = other.Floored()
		}
	}
	return &out
}
