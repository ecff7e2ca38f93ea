package tei

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

const path = "/embed"

// Routes adds the endpoint.
func (s *Service) Routes(r fiber.Router) {
	r.Post(path, gateway.JSON(s.Embed, gateway.AtMost("inputs", s.embedding.MaxInputs())))
}

// Words are those of failures at the endpoint, nil at any other path.
func (s *Service) Words(at string) gateway.Words {
	if at != path {
		return nil
	}
	return func(f *fault.Error) (int, any) {
		status, kind := gateway.TEIStatusOf(f)
		return status, Error{Error: f.Summary(), ErrorType: kind}
	}
}
