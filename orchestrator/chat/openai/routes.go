package openai

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/chat"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

// Bounds of lists that no model would have longer.
const (
	maxStopTokens = 1024
	maxModalities = 16
)

// older begins the paths of OpenAI's interface in Llama Stack until 2025.
const older = "/v1/openai"

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	messages := gateway.JSONOrStream(Request.Streams, s.Complete, marked(s.Stream),
		bind.AtMost("messages", s.chat.MaxMessages()),
		bind.AtMost("stop_token_ids", maxStopTokens),
		bind.AtMost("modalities", maxModalities),
	)
	texts := gateway.JSONOrStream(TextRequest.Streams, s.CompleteText, marked(s.StreamText),
		bind.AtMost("prompt", maxPrompts),
		bind.AtMost("stop_token_ids", maxStopTokens),
	)
	responses := gateway.JSONOrStream(ResponseRequest.Streams, s.Respond, s.streamResponse,
		bind.AtMost("input", s.chat.MaxMessages()),
		bind.AtMost("include", maxModalities),
		bind.AtMost("tools", maxTools),
	)
	for _, base := range []string{"", older} {
		r.Post(base+"/v1/chat/completions", messages)
		r.Post(base+"/v1/completions", texts)
		r.Post(base+"/v1/responses", responses)
	}
}

// marked is a stream of server-sent events with the mark that OpenAI's streams end with.
func marked[Req any](stream func(context.Context, Req, func(any) error) error) func(context.Context, Req, *gateway.Events) error {
	return func(ctx context.Context, r Req, events *gateway.Events) error {
		if err := stream(ctx, r, events.Send); err != nil {
			return err
		}
		return events.SendText(chat.EndOfStream)
	}
}

// streamResponse is StreamResponse as server-sent events: each has its type as its name, and the last one says how the
// response has ended, a failure too.
func (s *Service) streamResponse(ctx context.Context, r ResponseRequest, events *gateway.Events) error {
	w := s.newResponseWriter(r, events.SendNamed)
	if err := w.run(ctx); err != nil {
		return &gateway.StreamError{Err: err, Events: w.failed}
	}
	return nil
}
