package openai

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

// Bounds of lists; longer ones are of no use to any model.
const (
	maxStopTokens = 1024
	maxModalities = 16
)

// llamaStackBase precedes the paths of OpenAI's interface in Llama Stack until 2025.
const llamaStackBase = "/v1/openai"

// Paths of vLLM's endpoints for tokens.
const (
	TokenizePath   = "/tokenize"
	DetokenizePath = "/detokenize"
)

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	messages := gateway.JSONOrStream(ChatRequest.Streams, s.Complete, endMarked(s.Stream),
		bind.AtMost("messages", s.chat.MaxMessages()),
		bind.AtMost("stop_token_ids", maxStopTokens),
		bind.AtMost("modalities", maxModalities),
	)
	texts := gateway.JSONOrStream(TextRequest.Streams, s.CompleteText, endMarked(s.StreamText),
		bind.AtMost("prompt", maxPrompts),
		bind.AtMost("stop_token_ids", maxStopTokens),
	)
	responses := gateway.JSONOrStream(ResponseRequest.Streams, s.respond, s.streamResponse,
		bind.AtMost("input", s.chat.MaxMessages()),
		bind.AtMost("include", maxModalities),
		bind.AtMost("tools", maxTools),
	)
	r.Post(TokenizePath, gateway.JSON(s.Tokenize, bind.AtMost("messages", s.chat.MaxMessages())))
	r.Post(DetokenizePath, gateway.JSON(s.Detokenize, bind.AtMost("tokens", maxTokenIDs)))
	for _, base := range []string{"", llamaStackBase} {
		r.Post(base+"/v1/chat/completions", messages)
		r.Post(base+"/v1/completions", texts)
		r.Post(base+"/v1/responses", responses)
	}
	for _, base := range []string{"", "/v1", llamaStackBase + "/v1"} {
		s.storeRoutes(r, base+"/responses/:id")
	}
}

// storeRoutes adds the endpoints of a stored response.
func (s *Service) storeRoutes(r fiber.Router, path string) {
	r.Get(path, gateway.WithParams(func(ctx context.Context, p gateway.Params) (Response, error) {
		return s.Retrieve(ctx, gateway.Caller(ctx), p.Path("id"), p.Query("stream"))
	}))
	r.Delete(path, gateway.WithParams(func(ctx context.Context, p gateway.Params) (DeletedResponse, error) {
		return s.Delete(ctx, gateway.Caller(ctx), p.Path("id"))
	}))
	r.Get(path+"/input_items", gateway.WithParams(func(ctx context.Context, p gateway.Params) (ItemList, error) {
		query := itemQuery{p.Query("after"), p.Query("limit"), p.Query("order")}
		return s.ListItems(ctx, gateway.Caller(ctx), p.Path("id"), query)
	}))
	r.Post(path+"/cancel", gateway.WithParams(func(ctx context.Context, p gateway.Params) (Response, error) {
		return s.Cancel(ctx, gateway.Caller(ctx), p.Path("id"))
	}))
}

// endMarked returns stream as server-sent events that end with OpenAI's marker.
func endMarked[R any](
	stream func(context.Context, R, func(any) error) error,
) func(context.Context, R, *gateway.Events) error {
	return func(ctx context.Context, r R, events *gateway.Events) error {
		if err := stream(ctx, r, events.Send); err != nil {
			return err
		}
		return events.SendText(chat.EndOfStream)
	}
}

// respond answers in one piece.
func (s *Service) respond(ctx context.Context, r ResponseRequest) (Response, error) {
	return s.Respond(ctx, gateway.Caller(ctx), r)
}

// streamResponse answers with server-sent events that are named by their type. The last one before the marker of the
// end has the final status, also of a response that fails.
func (s *Service) streamResponse(ctx context.Context, r ResponseRequest, events *gateway.Events) error {
	w := s.newResponseWriter(gateway.Caller(ctx), r, events.SendNamed)
	if err := w.run(ctx); err != nil {
		return &gateway.StreamError{Err: err, Events: func(f *fault.Error) []any {
			name, last := w.failureEvent(f)
			return []any{gateway.NamedEvent{Name: name, Data: last}, chat.EndOfStream}
		}}
	}
	return events.SendText(chat.EndOfStream)
}
