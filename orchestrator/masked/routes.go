package masked

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

//go:embed openapi.yaml
var openAPI []byte

// Name returns the name of the API in settings, logs, metrics and paths.
func (s *Service) Name() string { return "masked" }

// OpenAPI returns the OpenAPI description, with the default of noise in the version of GenMol that is served.
func (s *Service) OpenAPI() []byte {
	if s.config.GenMol == 2 {
		return bytes.Replace(openAPI, []byte("default: 0.0 # of noise"), []byte("default: 1.0"), 1)
	}
	return openAPI
}

// Routes adds the endpoints that are specific to this API.
func (s *Service) Routes(r fiber.Router) {
	if s.config.GenMol == 2 {
		r.Post("/generate", generate(s, requestV2.request))
	} else {
		r.Post("/generate", generate(s, func(r Request) Request { return r }))
	}
	r.Get("/v1/models", gateway.Get(s.List))
}

// generate is the endpoint POST /generate. R is the type of the body, which request converts.
func generate[R any](s *Service, request func(R) Request) fiber.Handler {
	isStream := func(r R) bool { return bool(request(r).Stream) }
	use := func(ctx context.Context, r R) (Response, error) { return s.Generate(ctx, request(r)) }
	stream := func(ctx context.Context, r R, events *gateway.Events) error {
		return s.Stream(ctx, request(r), events.Send)
	}
	return gateway.JSONOrStream(isStream, use, stream)
}

// Health returns the documented bodies. The published text promises an object and its example shows the bare value, so
// there is a setting.
func (s *Service) Health() (ready, live any) {
	if s.config.ReadyBody == "true" {
		return true, true
	}
	return Health{"ready"}, Health{"live"}
}

// RenderFault renders a failure as the published service does: one text with all problems.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	return gateway.StatusOf(f.Kind), failure(f)
}

// RenderStreamFault returns the last event of a stream that fails.
func (s *Service) RenderStreamFault(f *fault.Error) []any { return []any{failure(f)} }

func failure(f *fault.Error) Failure {
	var texts []string
	for _, problem := range f.All() {
		texts = append(texts, describe(problem))
	}
	return Failure{Status: "failed", Error: strings.Join(texts, "; ")}
}

// describe returns the member, the problem and the rejected input.
func describe(f *fault.Error) string {
	text := f.Message
	if field := f.Field(); field != "" {
		text = field + ": " + text
	}
	if f.Input == nil || f.Rule == "value_error" {
		return text // the message quotes the input already
	}
	input, err := json.Marshal(f.Input)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%s, got %s", text, input)
}
