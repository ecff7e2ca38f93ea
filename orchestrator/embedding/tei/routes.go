package tei

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/dialect/teibase"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

// RootPath is where clients embed that know a server by its address alone. The main port has its page there.
const RootPath = "/"

const (
	embedPath      = "/embed"
	similarityPath = "/similarity"
	allPath        = "/embed_all"
	sparsePath     = "/embed_sparse"
)

// paths are the paths of this package.
var paths = []string{RootPath, embedPath, similarityPath, allPath, sparsePath}

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	most := bind.AtMost("inputs", s.embedding.MaxInputs())
	embed := gateway.JSON(s.Embed, most)
	r.Post(embedPath, embed)
	r.Post(RootPath, embed)
	r.Post(similarityPath, gateway.JSON(s.Similarity))
	r.Post(allPath, gateway.JSON(s.refuse("`embed_all` is not available: the models have no vectors of tokens"), most))
	r.Post(sparsePath, gateway.JSON(s.refuse("`embed_sparse` is not available: the models have dense vectors"), most))
	s.base.Routes(r)
}

// Renderer returns the renderer of failures at a path, or nil if it is not a path of this package or of teibase.
func (s *Service) Renderer(path string) gateway.RenderFunc {
	if slices.Contains(paths, path) {
		return teibase.Render
	}
	return s.base.Renderer(path)
}

// refuse returns a use case that refuses every valid request as text-embeddings-inference refuses one that its model
// cannot serve.
func (s *Service) refuse(message string) func(context.Context, Request) (any, error) {
	return func(_ context.Context, r Request) (any, error) {
		if _, err := s.embedding.Find(r.Model, r.PromptName != nil); err != nil {
			return nil, err
		}
		body, err := json.Marshal(teibase.Error{Error: message, ErrorType: "Backend"})
		if err != nil {
			return nil, err
		}
		return nil, &gateway.Refusal{Status: http.StatusFailedDependency, Body: body}
	}
}
