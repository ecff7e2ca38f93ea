package anthropic

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/tools"
)

// Service translates Anthropic's requests and answers for the chat service.
type Service struct{ chat *chat.Service }

// New returns the interface to a chat service.
func New(service *chat.Service) *Service { return &Service{service} }

// Create answers in one piece. It runs the stream and returns the message that its events add up to.
func (s *Service) Create(ctx context.Context, r Request) (Message, error) {
	w := s.newMessageWriter(r, func(string, any) error { return nil })
	err := w.run(ctx)
	return w.message, err
}

// CountTokens returns the number of tokens that the model would read.
func (s *Service) CountTokens(ctx context.Context, in Input) (Count, error) {
	tokens, err := s.chat.CountTokens(ctx, in.conversation(tools.Plan{Tools: in.plan().Tools}))
	return Count{InputTokens: tokens}, err
}

// newID returns a prefix with 128 random bits as 32 hexadecimal digits.
func newID(prefix string) string {
	var raw [16]byte
	rand.Read(raw[:]) // never fails
	return prefix + hex.EncodeToString(raw[:])
}
