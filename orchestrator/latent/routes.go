package latent

import (
	"context"
	_ "embed"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

//go:embed openapi.yaml
var openAPI []byte

// Name returns the API's name in settings, logs, metrics and paths.
func (s *Service) Name() string { return "latent" }

// OpenAPI returns the API's description.
func (s *Service) OpenAPI() []byte { return openAPI }

// Routes adds the endpoints of this API. The gateway adds health, documentation and metrics.
func (s *Service) Routes(r fiber.Router) {
	sequences := bind.AtMost("sequences", s.config.MaxSequences)
	hiddens := bind.AtMost("hiddens", s.config.MaxHiddens)
	mask := bind.AtMost("mask", s.config.MaxHiddens)
	seeds := bind.AtMost("sequences", s.config.MaxSeeds)
	smi := bind.AtMost("smi", s.config.MaxSeeds)
	starts := bind.AtMost("starts", max(1, s.config.MaxSeeds))
	r.Post("/embedding", gateway.JSON(s.Embedding, sequences))
	r.Post("/hidden", gateway.JSON(s.Hidden, sequences))
	r.Post("/decode", gateway.JSON(s.Decode, hiddens, mask))
	r.Post("/sampling", gateway.JSON(s.Sampling, seeds))
	isStream := func(r Generate) bool { return r.Stream }
	stream := func(ctx context.Context, r Generate, events *gateway.Events) error {
		return s.Stream(ctx, r, events.Send)
	}
	r.Post("/generate", gateway.JSONOrStream(isStream, s.Generate, stream, smi, starts))
	r.Get("/v1/models", gateway.Get(s.List))
}

// Health returns the documented bodies.
func (s *Service) Health() (ready, live any) { return Health{"ready"}, Health{"live"} }

// RenderFault renders a failure as the published service does, which uses FastAPI: the problems of a body as a list of
// pydantic errors with status 422, any other failure as one text.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	if f.Kind == fault.Invalid {
		return fiber.StatusUnprocessableEntity, Invalid{Detail: bind.DetailsOf(f)}
	}
	return gateway.StatusOf(f.Kind), Failure{Detail: f.Message}
}

// RenderStreamFault renders a failure after the first event: the body of RenderFault is the data of the last event.
func (s *Service) RenderStreamFault(f *fault.Error) []any {
	_, body := s.RenderFault(f)
	return []any{body}
}
