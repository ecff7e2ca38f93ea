package teibase

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/dialect"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

// Paths of requests. They are the same for each API, so the main port has them only below the API's name.
const (
	TokenizePath = "/tokenize"
	DecodePath   = "/decode"
	infoPath     = "/info"
)

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	r.Get(infoPath, gateway.WithParams(s.Info))
	r.Post(TokenizePath, gateway.JSON(s.Tokenize, bind.AtMost("inputs", s.limits.Inputs)))
	r.Post(DecodePath, gateway.JSON(s.Decode))
	for _, path := range gateway.ProbePaths {
		r.Get(path, gateway.Probe(s.api.Ready))
	}
}

// Renderer returns the renderer of failures at a path, or nil if it is not a path of this package.
func (s *Service) Renderer(path string) gateway.RenderFunc {
	switch path {
	case TokenizePath, DecodePath, infoPath, gateway.ProbePaths[0], gateway.ProbePaths[1]:
		return Render
	}
	return nil
}

// Render renders a failure as text-embeddings-inference does.
func Render(f *fault.Error) (int, any) {
	status, kind := dialect.TEIStatus(f)
	return status, Error{Error: f.Summary(), ErrorType: kind}
}
