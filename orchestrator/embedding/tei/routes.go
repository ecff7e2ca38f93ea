package tei

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/dialect"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

const path = "/embed"

// Routes adds the endpoint.
func (s *Service) Routes(r fiber.Router) {
	r.Post(path, gateway.JSON(s.Embed, bind.AtMost("inputs", s.embedding.MaxInputs())))
}

// Renderer returns the form of failures at the endpoint, nil at any other path.
func (s *Service) Renderer(at string) gateway.RenderFunc {
	if at != path {
		return nil
	}
	return func(f *fault.Error) (int, any) {
		status, kind := dialect.TEIStatus(f)
		return status, Error{Error: f.Summary(), ErrorType: kind}
	}
}
