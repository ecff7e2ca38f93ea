package chat

import (
	_ "embed"

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

// Interface is one documented way to ask: it adds its endpoints.
type Interface interface{ Routes(r fiber.Router) }

// Mount has the service answer to interfaces. It is called before Routes.
func (s *Service) Mount(interfaces ...Interface) { s.interfaces = append(s.interfaces, interfaces...) }

// Routes adds the endpoints of the interfaces and those that they share.
func (s *Service) Routes(r fiber.Router) {
	for _, i := range s.interfaces {
		i.Routes(r)
	}
	r.Get("/v1/models", gateway.Get(s.List))
}

// Health returns the documented bodies.
func (s *Service) Health() (ready, live any) {
	return Health{"health.response", "Service is ready."}, Health{"health.response", "Service is live."}
}

// types are the names of errors in vLLM.
var types = map[fault.Kind]string{
	fault.Invalid:      "BadRequestError",
	fault.TooLarge:     "RequestEntityTooLargeError",
	fault.NotFound:     "NotFoundError",
	fault.Method:       "MethodNotAllowedError",
	fault.Unauthorized: "AuthenticationError",
	fault.TooMany:      "RateLimitError",
	fault.Overloaded:   "ServiceUnavailableError",
	fault.Unavailable:  "ServiceUnavailableError",
	fault.Timeout:      "GatewayTimeoutError",
	fault.Canceled:     "RequestCanceledError",
	fault.Internal:     "InternalServerError",
}

// RenderFault words a failure flat, as documented, and nested, as OpenAI's clients read it, in one body.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	status = gateway.StatusOf(f.Kind)
	e := Error{Object: "error", Message: Wording(f), Type: types[f.Kind], Code: status}
	if field := f.Field(); field != "" {
		e.Param = &field
	}
	e.Error = Nested{Object: e.Object, Message: e.Message, Type: e.Type, Param: e.Param, Code: e.Code, Detail: e.Message}
	return status, e
}

// Wording is the text of all problems, each with its field where a rule of the body's form is broken.
func Wording(f *fault.Error) string { return f.Summary() }

// EndOfStream is the last event of a stream of chat completions.
const EndOfStream = "[DONE]"

// RenderStreamFault words a failure within a stream of chat completions.
func (s *Service) RenderStreamFault(f *fault.Error) []any {
	_, body := s.RenderFault(f)
	return []any{body, EndOfStream}
}
