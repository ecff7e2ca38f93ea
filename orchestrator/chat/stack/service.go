package stack

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
)

// Service translates Llama Stack's requests and answers for the chat service.
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
	message := CompletionMessage{Role: "assistant", ToolCalls: []struct{}{}}
	for chunk, err := range answer.Chunks() {
		if err != nil {
			return Response{}, err
		}
		text.WriteString(chunk.Text)
		logprobs = append(logprobs, chunk.Logprobs...)
		if chunk.Finish != "" {
			message.StopReason = stopReason(chunk.Finish)
		}
	}
	message.Content = text.String()
	return Response{CompletionMessage: message, Logprobs: logprobsByToken(logprobs)}, nil
}

// stopReason returns this interface's name of a finish reason.
func stopReason(finish string) string {
	if finish == "length" {
		return "out_of_tokens"
	}
	return "end_of_turn"
}

// logprobsByToken returns nil (null) if there are no log probabilities.
func logprobsByToken(logprobs []engine.Logprob) *[]Logprob {
	if len(logprobs) == 0 {
		return nil
	}
	out := make([]Logprob, len(logprobs))
	for i, l := range logprobs {
		out[i].ByToken = map[string]float64{l.Token: l.Finite()}
		for _, other := range l.Top {
			out[i].ByToken[other.Token] = other.Finite()
		}
	}
	return &out
}

// models returns the model list, one line of JSON for each model.
func (s *Service) models() (string, error) {
	if err := s.chat.Ready(); err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, id := range s.chat.Models() {
		line, err := json.Marshal(ModelDefinition{
			Identifier: id,
			LlamaModel: id,
			Metadata:   map[string]string{},
			ProviderID: "retort",
			Type:       "model",
		})
		if err != nil {
			return "", err
		}
		lines.Write(line)
		lines.WriteByte('\n')
	}
	return lines.String(), nil
}
