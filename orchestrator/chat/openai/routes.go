package openai

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/chat"
	"retort/orchestrator/gateway"
)

// Bounds of lists that no model would have longer.
const (
	maxStopTokens = 1024
	maxModalities = 16
)

// Routes adds the endpoint.
func (s *Service) Routes(r fiber.Router) {
	r.Post("/v1/chat/completions", gateway.JSONOrStream(Request.Streams, s.Complete, s.stream,
		gateway.AtMost("messages", s.chat.MaxMessages()),
		gateway.AtMost("stop_token_ids", maxStopTokens),
		gateway.AtMost("modalities", maxModalities),
	))
}

// stream is Stream as server-sent events, with the mark that OpenAI's streams end with.
func (s *Service) stream(ctx context.Context, r Request, events *gateway.Events) error {
	if err := s.Stream(ctx, r, events.Send); err != nil {
		return err
	}
	return events.SendText(chat.EndOfStream)
}
