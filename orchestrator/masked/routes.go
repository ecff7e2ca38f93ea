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

// Name is the API's name in settings, logs, metrics and paths.
func (s *Service) Name() string { return "masked" }

// OpenAPI is the API's description.
func (s *Service) OpenAPI() []byte { return openAPI }

// Routes are the API's endpoints beyond those that gateway gives every API.
func (s *Service) Routes(r fiber.Router) {
	streams := func(r Request) bool { return bool(r.Stream) }
	stream := func(ctx context.Context, r Request, events *gateway.Events) error {
		return s.Stream(ctx, r, events.Send)
	}
	r.Post("/generate", gateway.JSONOrStream(streams, s.Generate, stream))
	r.Get("/v1/models", gateway.Get(s.List))
}

// Health returns the documented bodies: the text of the documentation promises an object, its example shows the bare
// value.
func (s *Service) Health() (ready, live any) {
	if s.config.ReadyBody == "true" {
		return true, true
	}
	return Ready{"ready"}, Live{"live"}
}

// RenderFault words a failure as the service does: one text with every problem.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	return gateway.StatusOf(f.Kind), failure(f)
}

// RenderStreamFault is the event that ends a stream which failed.
func (s *Service) RenderStreamFault(f *fault.Error) []any { return []any{failure(f)} }

func failure(f *fault.Error) Failure {
	var texts []string
	for _, problem := range f.All() {
		texts = append(texts, worded(problem))
	}
	return Failure{Status: "failed", Error: strings.Join(texts, "; ")}
}

// worded is one problem: the member, what is wrong with it, and what came.
func worded(f *fault.Error) string {
	text := f.Message
	if field := f.Field(); field != "" {
		text = field + ": " + text
	}
	if f.Input == nil || f.Rule == "value_error" {
		return text // a template's problem quotes what it is about
	}
	input, err := json.Marshal(f.Input)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%s, got %s", text, input)
}
