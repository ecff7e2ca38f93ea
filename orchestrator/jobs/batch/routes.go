package batch

import (
	"context"
	_ "embed"
	"io"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
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
	r.Post("/v1/files", gateway.Upload(s.config.FileBytes+formOverhead, func(ctx context.Context, contentType string, body io.Reader) (File, error) {
		return s.upload(ctx, gateway.Caller(ctx), contentType, body)
	}))
	r.Get("/v1/files", gateway.Find(func(ctx context.Context, l gateway.Lookup) (Page[File], error) {
		return s.listFiles(ctx, gateway.Caller(ctx), asked(l))
	}))
	r.Get("/v1/files/:id", gateway.Find(func(ctx context.Context, l gateway.Lookup) (File, error) {
		return s.retrieveFile(ctx, gateway.Caller(ctx), l.Param("id"))
	}))
	r.Delete("/v1/files/:id", gateway.Find(func(ctx context.Context, l gateway.Lookup) (Deleted, error) {
		return s.deleteFile(ctx, gateway.Caller(ctx), l.Param("id"))
	}))
	r.Get("/v1/files/:id/content", gateway.Download(func(ctx context.Context, l gateway.Lookup) (gateway.Content, error) {
		file, reader, err := s.read(ctx, gateway.Caller(ctx), l.Param("id"))
		return gateway.Content{Type: "application/octet-stream", Name: file.Filename, Size: file.Bytes, Reader: reader}, err
	}))
	r.Post("/v1/batches", gateway.JSON(func(ctx context.Context, c Create) (Batch, error) {
		return s.create(ctx, gateway.Caller(ctx), gateway.Via(ctx), c)
	}))
	r.Get("/v1/batches", gateway.Find(func(ctx context.Context, l gateway.Lookup) (Page[Batch], error) {
		return s.list(ctx, gateway.Caller(ctx), asked(l))
	}))
	r.Get("/v1/batches/:id", gateway.Find(func(ctx context.Context, l gateway.Lookup) (Batch, error) {
		return s.retrieve(ctx, gateway.Caller(ctx), l.Param("id"))
	}))
	r.Post("/v1/batches/:id/cancel", gateway.Find(func(ctx context.Context, l gateway.Lookup) (Batch, error) {
		return s.cancel(ctx, gateway.Caller(ctx), l.Param("id"))
	}))
}

func asked(l gateway.Lookup) query {
	return query{after: l.Query("after"), limit: l.Query("limit"), order: l.Query("order"), purpose: l.Query("purpose")}
}

// RenderFault words a failure as OpenAI does.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) { return gateway.WordForOpenAI(f) }

// Health returns what every API here answers.
func (s *Service) Health() (ready, live any) {
	return map[string]bool{"ready": true}, map[string]bool{"live": true}
}

// Models is empty: they belong to the APIs.
func (s *Service) Models() []string { return nil }

// OpenAPI is the description of the endpoints.
func (s *Service) OpenAPI() []byte { return openAPI }
