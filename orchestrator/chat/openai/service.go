package openai

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"retort/orchestrator/chat"
)

// Service translates OpenAI's requests and answers for the chat service.
type Service struct {
	chat  *chat.Service
	store Store // nil: no response is stored
	now   func() time.Time
}

// New returns the interface to a chat service. store may be nil: then no response is stored.
func New(service *chat.Service, store Store) *Service {
	return &Service{chat: service, store: store, now: time.Now}
}

// Complete answers a chat completion in one piece.
func (s *Service) Complete(ctx context.Context, r ChatRequest) (Completion, error) {
	answer, err := s.chat.Answer(ctx, r.conversation(r.plan()))
	if err != nil {
		return Completion{}, err
	}
	outcomes, err := collect(answer)
	if err != nil {
		return Completion{}, err
	}
	choices := make([]Choice, len(outcomes))
	for i, o := range outcomes {
		message := AssistantMessage{Role: "assistant", ToolCalls: o.calls}
		if o.text != "" || len(o.calls) == 0 {
			message.Content = &o.text
		}
		choices[i] = Choice{
			Index:        i,
			Message:      message,
			Logprobs:     o.logprobs,
			FinishReason: finishReason(o.finish, len(message.ToolCalls) > 0),
			StopReason:   o.stop,
		}
	}
	return Completion{
		ID:        "chatcmpl-" + randomHex(),
		Object:    "chat.completion",
		Created:   s.now().Unix(),
		Model:     answer.Model,
		Choices:   choices,
		Usage:     usageOf(answer),
		MaxTokens: answer.ClampedMaxTokens,
	}, nil
}

// finishReason returns the finish reason of a choice: that of the engine, unless it is a complete tool call.
func finishReason(finish string, isCall bool) string {
	if isCall && finish == "stop" {
		return "tool_calls"
	}
	return finish
}

// outcome is one complete choice.
type outcome struct {
	text     string
	calls    []ToolCall
	logprobs *TokenLogprobs
	finish   string
	stop     *string
}

// collect waits for all choices of an answer.
func collect(answer *chat.Answer) ([]outcome, error) {
	outcomes := make([]outcome, answer.Choices)
	texts := make([]strings.Builder, answer.Choices)
	joiners := make([]textJoiner, answer.Choices)
	for chunk, err := range answer.Chunks() {
		if err != nil {
			return nil, err
		}
		o := &outcomes[chunk.Choice]
		for _, delta := range chunk.Deltas {
			texts[chunk.Choice].WriteString(joiners[chunk.Choice].next(delta))
			if delta.Name != "" {
				o.calls = append(o.calls, newToolCall(delta.Name))
			}
			if !delta.IsText() {
				o.calls[len(o.calls)-1].Function.Arguments += delta.Arguments
			}
		}
		o.logprobs = appendLogprobs(o.logprobs, chunk.Logprobs)
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

// randomHex returns 128 random bits as 32 hexadecimal digits.
func randomHex() string {
	var raw [16]byte
	rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}
