package optimization

import (
	"context"
	_ "embed"
	"io"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

//go:embed openapi.yaml
var openAPI []byte

// Path begins the paths of the routes, below an API.
const Path = "/generate/jobs"

// Of is the jobs of one API, whose failures are worded as that API words its own.
type Of struct {
	gateway.API
	service *Service
}

// Of returns the jobs of an API.
func (s *Service) Of(api gateway.API) *Of { return &Of{API: api, service: s} }

// Name is the name in logs and metrics.
func (o *Of) Name() string { return o.API.Name() + "_jobs" }

// OpenAPI is the description of the routes.
func (o *Of) OpenAPI() []byte { return openAPI }

// Ready returns nil when jobs can be kept.
func (o *Of) Ready() error {
	return o.service.ready()
}

// RenderStreamFault words a failure in a job's event stream as the API words those in its own streams.
func (o *Of) RenderStreamFault(f *fault.Error) []any {
	if api, ok := o.API.(gateway.StreamFaults); ok {
		return api.RenderStreamFault(f)
	}
	_, body := o.RenderFault(f)
	return []any{body}
}

// Routes adds the endpoints.
func (o *Of) Routes(r fiber.Router) {
	s := o.service
	api := o.API.Name()
	r.Post(Path, gateway.Raw(func(ctx context.Context, body []byte) (int, Job, error) {
		job, refused, err := s.create(ctx, api, gateway.Caller(ctx), body)
		if err == nil && refused != nil {
			err = &gateway.Refusal{Status: refused.Status, Body: refused.Body}
		}
		return http.StatusAccepted, job, err
	}))
	r.Get(Path, gateway.Find(func(ctx context.Context, l gateway.Lookup) (Page, error) {
		return s.list(ctx, api, gateway.Caller(ctx), l.Query("after"), l.Query("limit"))
	}))
	r.Get(Path+"/:id", gateway.Find(func(ctx context.Context, l gateway.Lookup) (Job, error) {
		one, _, err := s.get(ctx, api, gateway.Caller(ctx), l.Param("id"))
		return one.Job, err
	}))
	r.Get(Path+"/:id/events", gateway.Watch("id", func(ctx context.Context, id string, events *gateway.Events) error {
		return s.watch(ctx, api, gateway.Caller(ctx), id, events.Send)
	}))
	r.Get(Path+"/:id/result", gateway.Download(func(ctx context.Context, l gateway.Lookup) (gateway.Content, error) {
		one, reader, err := s.result(ctx, api, gateway.Caller(ctx), l.Param("id"))
		return gateway.Content{Type: fiber.MIMEApplicationJSON, Name: one.ID + ".json", Size: one.ResultSize, Reader: reader}, err
	}))
	r.Post(Path+"/:id/cancel", gateway.Find(func(ctx context.Context, l gateway.Lookup) (Job, error) {
		return s.cancel(ctx, api, gateway.Caller(ctx), l.Param("id"))
	}))
}

// result returns a reader of a job's result.
func (s *Service) result(ctx context.Context, api, caller, id string) (record, io.Reader, error) {
	r, st, err := s.get(ctx, api, caller, id)
	switch {
	case err != nil:
		return r, nil, err
	case !r.Status.ended():
		return r, nil, fault.Missing(fault.Result, "The job has no result yet: it is %s.", r.Status)
	case !r.HasResult:
		return r, nil, fault.Missing(fault.Result, "The job has no result: it is %s.", r.Status)
	}
	return r, st.texts.Open(ctx, r.key()+".result", r.ResultSize), nil
}
