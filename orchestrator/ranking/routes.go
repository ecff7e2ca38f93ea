package ranking

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
func (s *Service) Name() string { return "ranking" }

// OpenAPI returns the OpenAPI description.
func (s *Service) OpenAPI() []byte { return openAPI }

// interfaces are endpoints of other published APIs for the same models.
type interfaces = gateway.Interfaces

// Routes adds the endpoints that are specific to this API, with the paths of the hosted service. The model in the path
// is ignored: the body's counts.
func (s *Service) Routes(r fiber.Router) {
	rank := gateway.JSON(s.Rank, bind.AtMost("passages", s.config.MaxPassages))
	r.Post("/v1/ranking", rank)
	r.Post("/v1/reranking", rank)
	r.Post("/v1/retrieval/+/reranking", gateway.JSON(s.RankHosted, bind.AtMost("passages", s.config.MaxPassages)))
	r.Get("/v1/models", gateway.Get(s.List))
	s.interfaces.Routes(r)
}

// Health returns the documented bodies.
func (s *Service) Health() (ready, live any) { return Ready{true}, Live{true} }

// RenderFault renders a failure as the published service does: one text that starts with the field at fault, if any.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	if s.config.Errors == "openai" {
		return dialect.RenderOpenAI(f)
	}
	answer := Error{Error: f.Message}
	switch {
	case f.Rule == "extra_forbidden" && len(f.Path) == 1:
		answer.Error = f.Field() + ": unknown field, expected one of model, query, passages, truncate"
	case f.Rule != "" && len(f.Path) > 0:
		answer.Error = f.Field() + ": " + f.Message
	}
	if len(f.Path) > 0 {
		answer.Detail = bind.DetailsOf(f)
	}
	return gateway.StatusOf(f.Kind), answer
}
