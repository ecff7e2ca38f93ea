package ranking

import (
	"context"
	"sort"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// Service is the ranking API over the models that Triton serves now.
type Service struct {
	config Config
	models *triton.Catalog[Model]
}

// New returns the service over a catalog of rankers.
func New(config Config, models *triton.Catalog[Model]) *Service {
	return &Service{config: config, models: models}
}

// Ready returns nil when at least one model can serve.
func (s *Service) Ready() error { return s.models.Ready() }

// Models lists the public ids of the models served now.
func (s *Service) Models() []string { return s.models.IDs() }

// List is the model list.
func (s *Service) List(context.Context) (Models, error) {
	list := Models{Object: "list", Data: []Listed{}}
	for _, id := range s.models.IDs() {
		list.Data = append(list.Data, Listed{ID: id})
	}
	return list, s.models.Ready()
}

// Rank orders the passages of a request by their logits.
func (s *Service) Rank(ctx context.Context, r Request) (Response, error) {
	if f := fault.Items(len(r.Passages), 1, s.config.MaxPassages, "passages"); f != nil {
		return Response{}, f
	}
	model, err := s.models.Find(r.Model)
	if err != nil {
		return Response{}, err
	}
	logits, err := model.Score(ctx, r)
	if err != nil {
		return Response{}, err
	}
	return Response{Rankings: order(logits)}, nil
}

// order ranks passages by their logits, equal ones by their index.
func order(logits []float32) []Rank {
	ranks := make([]Rank, len(logits))
	for i, logit := range logits {
		ranks[i] = Rank{Index: i, Logit: logit}
	}
	sort.SliceStable(ranks, func(i, j int) bool { return ranks[i].Logit > ranks[j].Logit })
	return ranks
}
