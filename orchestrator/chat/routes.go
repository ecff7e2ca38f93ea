package chat

import (
	_ "embed"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

//go:embed openapi.yaml
var openAPI []byte

// Name returns the API's name in settings, logs, metrics and paths.
func (s *Service) Name() string { return "chat" }

// OpenAPI returns the API's description in YAML.
func (s *Service) OpenAPI() []byte { return openAPI }

// Interface is a documented interface to the models, such as package openai. One whose clients expect other error
// bodies is a gateway.PathRenderer too.
type Interface interface{ Routes(r fiber.Router) }

// Mount adds interfaces. It must be called before Routes.
func (s *Service) Mount(interfaces ...Interface) { s.interfaces = append(s.interfaces, interfaces...) }

// Renderer returns the renderer of the interface that a path belongs to, or nil: gateway.PathRenderer.
func (s *Service) Renderer(path string) gateway.RenderFunc {
	for _, i := range s.interfaces {
		if own, ok := i.(gateway.PathRenderer); ok {
			if render := own.Renderer(path); render != nil {
				return render
			}
		}
	}
	return nil
}

// Routes adds the endpoints of the interfaces and the shared ones.
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

// errorTypes are vLLM's names of errors.
var errorTypes = map[fault.Kind]string{
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

// RenderFault returns the status and the [Error] of a failure.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	status = gateway.StatusOf(f.Kind)
	var e Error
	e.ErrorMembers = ErrorMembers{Object: "error", Message: f.Summary(), Type: errorTypes[f.Kind], Code: status}
	if field := f.Field(); field != "" {
		e.Param = &field
	}
	e.Error.ErrorMembers = e.ErrorMembers
	e.Error.Detail = e.Message
	return status, e
}

// EndOfStream is the last event of OpenAI's streams.
const EndOfStream = "[DONE]"

// RenderStreamFault returns the last events of a stream that fails.
func (s *Service) RenderStreamFault(f *fault.Error) []any {
	_, body := s.RenderFault(f)
	return []any{body, EndOfStream}
}
