package optimization

import (
	"bytes"
	"context"
	_ "embed"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/jobs"
)

//go:embed openapi.yaml
var openAPI []byte

// Path is the prefix of all routes, below the prefix of an API.
const Path = "/generate/jobs"

// Endpoints are the endpoints of one API's jobs. Their failures have that API's form.
type Endpoints struct {
	gateway.API
	service *Service
}

// Endpoints returns the endpoints of an API's jobs.
func (s *Service) Endpoints(api gateway.API) *Endpoints { return &Endpoints{API: api, service: s} }

// Name is the name in logs and metrics.
func (e *Endpoints) Name() string { return e.API.Name() + "_jobs" }

// OpenAPI returns the description of the routes.
func (e *Endpoints) OpenAPI() []byte { return openAPI }

// Ready returns nil while jobs can be stored.
func (e *Endpoints) Ready() error { return e.service.storage.Ready() }

// RenderStreamFault returns the last events of a job's event stream that fails, in the form of the API's own streams.
func (e *Endpoints) RenderStreamFault(f *fault.Error) []any {
	if api, ok := e.API.(gateway.StreamRenderer); ok {
		return api.RenderStreamFault(f)
	}
	_, body := e.RenderFault(f)
	return []any{body}
}

// Routes adds the endpoints.
func (e *Endpoints) Routes(r fiber.Router) {
	s := e.service
	api := e.API.Name()
	r.Post(Path, gateway.Raw(func(ctx context.Context, body []byte) (int, Job, error) {
		job, err := s.create(ctx, api, gateway.Caller(ctx), body)
		return http.StatusAccepted, job, err
	}))
	r.Get(Path, gateway.WithParams(func(ctx context.Context, l gateway.Params) (jobs.Page[Job], error) {
		return s.list(ctx, api, gateway.Caller(ctx), l.Query("after"), l.Query("limit"))
	}))
	r.Get(Path+"/:id", gateway.WithParams(func(ctx context.Context, l gateway.Params) (Job, error) {
		r, _, err := s.get(ctx, api, gateway.Caller(ctx), l.Path("id"))
		return r.Job, err
	}))
	r.Get(Path+"/:id/events", gateway.Watch("id", func(ctx context.Context, id string, events *gateway.Events) error {
		return s.watch(ctx, api, gateway.Caller(ctx), id, events.Send)
	}))
	r.Get(Path+"/:id/result", gateway.Download(func(ctx context.Context, l gateway.Params) (gateway.Content, error) {
		r, reader, err := s.result(ctx, api, gateway.Caller(ctx), l.Path("id"))
		content := gateway.Content{
			Type: fiber.MIMEApplicationJSON, Name: r.ID + ".json", Size: r.ResultSize, Reader: reader,
		}
		return content, err
	}))
	r.Get(Path+"/:id/ask", gateway.WithParams(func(ctx context.Context, l gateway.Params) (Asked, error) {
		return s.ask(ctx, api, gateway.Caller(ctx), l.Path("id"))
	}))
	r.Post(Path+"/:id/tell", gateway.JSONWithParams(func(ctx context.Context, l gateway.Params, t Tell) (Told, error) {
		return s.tell(ctx, api, gateway.Caller(ctx), l.Path("id"), t)
	}))
	r.Get(Path+"/:id/evaluated", gateway.Download(func(ctx context.Context, l gateway.Params) (gateway.Content, error) {
		text, mediaType, err := s.evaluated(ctx, api, gateway.Caller(ctx), l.Path("id"), l.Query("format"))
		extension, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(mediaType, "application/"), "text/"), ";")
		return gateway.Content{
			Type: mediaType, Name: l.Path("id") + "." + extension, Size: int64(len(text)), Reader: bytes.NewReader(text),
		}, err
	}))
	r.Post(Path+"/:id/cancel", gateway.WithParams(func(ctx context.Context, l gateway.Params) (Job, error) {
		return s.cancel(ctx, api, gateway.Caller(ctx), l.Path("id"))
	}))
}
