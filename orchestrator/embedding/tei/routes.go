package tei

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/dialect"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

const embedPath = "/embed"

// Routes adds the endpoint.
func (s *Service) Routes(r fiber.Router) {
	r.Post(embedPath, gateway.JSON(s.Embed, bind.AtMost("inputs", s.embedding.MaxInputs())))
}

// Renderer returns the renderer of failures at the endpoint, or nil for any other path.
func (s *Service) Renderer(path string) gateway.RenderFunc {
	if path != embedPath {
		return nil
	}
	return func(f *fault.Error) (int, any) {
		status, kind := dialect.TEIStatus(f)
		return status, Error{Error: f.Summary(), ErrorType: kind}
	}
}
