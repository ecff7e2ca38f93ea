package masked

import (
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

// OpenAPI returns the OpenAPI description.
func (s *Service) OpenAPI() []byte { return openAPI }

// Routes adds the endpoints that are specific to this API.
func (s *Service) Routes(r fiber.Router) {
	isStream := func(r Request) bool { return bool(r.Stream) }
	stream := func(ctx context.Context, r Request, events *gateway.Events) error {
		return s.Stream(ctx, r, events.Send)
	}
	r.Post("/generate", gateway.JSONOrStream(isStream, s.Generate, stream))
	r.Get("/v1/models", gateway.Get(s.List))
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
