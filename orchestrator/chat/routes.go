package chat

import (
	_ "embed"
	"strings"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

//go:embed openapi.yaml
var openAPI []byte

// Name is the API's name in settings, logs, metrics and paths.
func (s *Service) Name() string { return "chat" }

// OpenAPI is the API's description.
func (s *Service) OpenAPI() []byte { return openAPI }

// Routes are the API's own endpoints.
func (s *Service) Routes(r fiber.Router) {
	r.Post("/v1/chat/completions", gateway.JSONOrStream(CompletionRequest.Streams, s.Complete, s.StreamCompletion))
	older := gateway.JSONOrStream(StackRequest.Streams, s.Stack, s.StreamStack(false))
	newer := gateway.JSONOrStream(StackRequest.Streams, s.Stack, s.StreamStack(true))
	r.Post("/inference/chat_completion", older)
	r.Post("/experimental/ls/inference/chat_completion", older)
	r.Post("/alpha/inference/chat-completion", newer)
	r.Post("/v1/inference/chat-completion", newer)
	r.Get("/v1/models", gateway.Get(s.List))
}

// Health returns the documented bodies.
func (s *Service) Health() (ready, live any) {
	return Health{"health.response", "Service is ready."}, Health{"health.response", "Service is live."}
}

// types are the names of errors in the style of vLLM.
var types = map[fault.Kind]string{
	fault.Invalid:      "BadRequestError",
	fault.TooLarge:     "RequestEntityTooLargeError",
	fault.NotFound:     "NotFoundError",
	fault.Method:       "MethodNotAllowedError",
	fault.Unauthorized: "AuthenticationError",
	fault.Overloaded:   "ServiceUnavailableError",
	fault.Unavailable:  "ServiceUnavailableError",
	fault.Timeout:      "GatewayTimeoutError",
	fault.Canceled:     "RequestCanceledError",
	fault.Internal:     "InternalServerError",
}

// RenderFault words a failure flat, as documented, and nested, as OpenAI's
// clients read it, in one body.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	status = gateway.StatusOf(f.Kind)
	e := Error{Object: "error", Message: message(f), Type: types[f.Kind], Code: status}
	if field := f.Field(); field != "" {
		e.Param = &field
	}
	e.Error = Nested{Object: e.Object, Message: e.Message, Type: e.Type, Param: e.Param, Code: e.Code, Detail: e.Message}
	return status, e
}

// message is the text of all problems, each with its field where a rule of
// the body's form is broken.
func message(f *fault.Error) string {
	var texts []string
	for _, one := range f.All() {
		text := one.Message
		if field := one.Field(); field != "" && one.Rule != "" {
			text = field + ": " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// RenderStreamFault words a failure within a stream of chat completions.
func (s *Service) RenderStreamFault(f *fault.Error) []any {
	_, body := s.RenderFault(f)
	return []any{body, doneMark}
}
