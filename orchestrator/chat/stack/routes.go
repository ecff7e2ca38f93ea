package stack

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	messages := bind.AtMost("messages", s.chat.MaxMessages())
	older := gateway.JSONOrStream(Request.Streams, s.Complete, s.stream(false), messages)
	newer := gateway.JSONOrStream(Request.Streams, s.Complete, s.stream(true), messages)
	r.Post("/inference/chat_completion", older)
	r.Post("/experimental/ls/inference/chat_completion", older)
	r.Post("/alpha/inference/chat-completion", newer)
	r.Post("/v1/inference/chat-completion", newer)
	r.Get("/models/list", s.list)
}

// list answers with the model list as JSON lines.
func (s *Service) list(c *fiber.Ctx) error {
	lines, err := s.models()
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "application/jsonl")
	return c.SendString(lines)
}

// stream returns Stream as server-sent events, which have no end marker.
func (s *Service) stream(typed bool) func(context.Context, Request, *gateway.Events) error {
	return func(ctx context.Context, r Request, events *gateway.Events) error {
		if err := s.Stream(ctx, r, typed, events.Send); err != nil {
			return &gateway.StreamError{Err: err, Events: failureEvents}
		}
		return nil
	}
}

// failureEvents returns the last event of a stream that fails.
func failureEvents(f *fault.Error) []any {
	return []any{map[string]any{"error": map[string]string{"message": f.Summary()}}}
}
