package embedding

import (
	_ "embed"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/dialect"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

//go:embed openapi.yaml
var openAPI []byte

// Name returns the name of the API in settings, logs, metrics and paths.
func (s *Service) Name() string { return "embedding" }

// OpenAPI returns the OpenAPI description.
func (s *Service) OpenAPI() []byte { return openAPI }

// interfaces are endpoints of other published APIs for the same models.
type interfaces = gateway.Interfaces

// Routes adds the endpoints that are specific to this API.
func (s *Service) Routes(r fiber.Router) {
	r.Post("/v1/embeddings", gateway.JSON(s.Embed, bind.AtMost("input", s.config.MaxInputs)))
	r.Get("/v1/models", gateway.Get(s.List))
	s.interfaces.Routes(r)
}

// Health returns the documented bodies, with the published hyphen.
func (s *Service) Health() (ready, live any) {
	return Health{"health-response", "Service is ready."}, Health{"health-response", "Service is live."}
}

// RenderFault renders a failure as the published service does: a problem that pydantic would find in the body is a
// validation error (with status 400, not 422), any other is {"error": "<text>"}.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	if s.config.Errors == "openai" {
		return dialect.RenderOpenAI(f)
	}
	status = gateway.StatusOf(f.Kind)
	if f.Kind != fault.Invalid || f.Rule == "" {
		answer := Error{Error: f.Message}
		if len(f.Path) > 0 {
			detail := bind.DetailOf(f)
			answer.Detail = &detail
		}
		return status, answer
	}
	answer := ValidationError{
		Object:  "error",
		Message: "Your request cannot be validated, it is incorrect.",
		Detail:  bind.DetailOf(f),
		Type:    "request_validation_error",
	}
	if all := bind.DetailsOf(f); len(all) > 1 {
		answer.Errors = all
	}
	return status, answer
}
