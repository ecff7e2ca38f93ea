package batch

import (
	"context"
	_ "embed"
	"io"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/dialect"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/jobs"
)

//go:embed openapi.yaml
var openAPI []byte

// Name is the name in logs and metrics.
func (s *Service) Name() string { return "batches" }

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	if s.off {
		return
	}
	r.Post("/v1/files", gateway.Upload(s.config.FileBytes+formOverhead,
		func(ctx context.Context, contentType string, body io.Reader) (File, error) {
			return s.upload(ctx, gateway.Caller(ctx), contentType, body)
		}))
	r.Get("/v1/files", gateway.WithParams(func(ctx context.Context, l gateway.Params) (jobs.Page[File], error) {
		return s.listFiles(ctx, gateway.Caller(ctx), queryOf(l))
	}))
	r.Get("/v1/files/:id", gateway.WithParams(func(ctx context.Context, l gateway.Params) (File, error) {
		r, _, err := s.file(ctx, gateway.Caller(ctx), l.Path("id"), "id")
		return r.File, err
	}))
	r.Delete("/v1/files/:id", gateway.WithParams(func(ctx context.Context, l gateway.Params) (Deleted, error) {
		return s.deleteFile(ctx, gateway.Caller(ctx), l.Path("id"))
	}))
	r.Get("/v1/files/:id/content",
		gateway.Download(func(ctx context.Context, l gateway.Params) (gateway.Content, error) {
			file, reader, err := s.read(ctx, gateway.Caller(ctx), l.Path("id"))
			content := gateway.Content{
				Type: "application/octet-stream", Name: file.Filename, Size: file.Bytes, Reader: reader,
			}
			return content, err
		}))
	r.Post("/v1/batches", gateway.JSON(func(ctx context.Context, c Create) (Batch, error) {
		return s.create(ctx, gateway.Caller(ctx), gateway.Via(ctx), c)
	}))
	r.Get("/v1/batches", gateway.WithParams(func(ctx context.Context, l gateway.Params) (jobs.Page[Batch], error) {
		return s.list(ctx, gateway.Caller(ctx), queryOf(l))
	}))
	r.Get("/v1/batches/:id", gateway.WithParams(func(ctx context.Context, l gateway.Params) (Batch, error) {
		r, _, err := s.batch(ctx, gateway.Caller(ctx), l.Path("id"))
		return r.Batch, err
	}))
	r.Post("/v1/batches/:id/cancel", gateway.WithParams(func(ctx context.Context, l gateway.Params) (Batch, error) {
		return s.cancel(ctx, gateway.Caller(ctx), l.Path("id"))
	}))
}

func queryOf(l gateway.Params) query {
	return query{
		after: l.Query("after"), limit: l.Query("limit"), order: l.Query("order"), purpose: l.Query("purpose"),
	}
}

// RenderFault returns a failure in OpenAI's form.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) { return dialect.RenderOpenAI(f) }

// Health returns the answers to readiness and liveness probes.
func (s *Service) Health() (ready, live any) {
	return map[string]bool{"ready": true}, map[string]bool{"live": true}
}

// Models returns none: models belong to the APIs.
func (s *Service) Models() []string { return nil }

// OpenAPI returns the description of the endpoints.
func (s *Service) OpenAPI() []byte { return openAPI }
