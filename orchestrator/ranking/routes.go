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

// Name is the API's name in settings, logs, metrics and paths.
func (s *Service) Name() string { return "ranking" }

// OpenAPI is the API's description.
func (s *Service) OpenAPI() []byte { return openAPI }

// interfaces are other published ways to ask, beside the documented one.
type interfaces = gateway.Interfaces

// Routes are the API's own endpoints. The other spellings are those of hosted copies of the service, of
// which the last has the model in its path too; the body's counts.
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

// RenderFault words a failure as the service does: one text, which names the field first where one is to blame.
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
