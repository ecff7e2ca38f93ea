package rerank

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/dialect"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
)

const (
	coherePath  = "/v2/rerank"
	jinaPath    = "/v1/rerank"
	teiPath     = "/rerank"
	predictPath = "/predict"
)

// maxFields is the most names in Request.RankFields.
const maxFields = 64

// Routes adds the endpoints.
func (s *Service) Routes(r fiber.Router) {
	maxPassages := s.ranking.MaxPassages()
	rerank := gateway.JSON(s.Rerank, bind.AtMost("documents", s.ranking.MaxDocuments()), bind.AtMost("texts", maxPassages),
		bind.AtMost("rank_fields", maxFields))
	for _, path := range []string{coherePath, jinaPath, teiPath} {
		r.Post(path, rerank)
	}
	r.Post(predictPath, gateway.JSON(s.Predict))
	s.base.Routes(r)
}

// Renderer returns the renderer of failures at a path, or nil if it is not a path of this package or of teibase.
func (s *Service) Renderer(path string) gateway.RenderFunc {
	switch path {
	case coherePath:
		return func(f *fault.Error) (int, any) { return gateway.StatusOf(f.Kind), CohereError{Message: f.Summary()} }
	case jinaPath:
		return func(f *fault.Error) (int, any) {
			return gateway.StatusOf(f.Kind), JinaError{Message: f.Summary(), Detail: f.Summary()}
		}
	}
	if path == teiPath || path == predictPath || s.base.Renderer(path) != nil {
		return func(f *fault.Error) (int, any) {
			status, kind := dialect.TEIStatus(f)
			text := f.Summary()
			return status, TEIError{Error: text, ErrorType: kind, Message: text, Detail: text}
		}
	}
	return nil
}
