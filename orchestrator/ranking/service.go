package ranking

import (
	"context"
	"sort"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton/discovery"
)

// Service is the ranking API over the models that Triton serves now.
type Service struct {
	config Config
	models *discovery.Catalog[Model]
	interfaces
}

// New returns the service over a catalog of rankers.
func New(config Config, models *discovery.Catalog[Model]) *Service {
	return &Service{config: config, models: models}
}

// Ready returns nil when at least one model can serve.
func (s *Service) Ready() error { return s.models.Ready() }

// MaxPassages is the most passages of one request.
func (s *Service) MaxPassages() int { return s.config.MaxPassages }

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
	pairs := Pairs{Query: r.Query.Text, Passages: make([]string, len(r.Passages)), Cut: r.Truncate != "NONE"}
	pairs.Path = func(i int) []any { return []any{"passages", i, "text"} }
	for i, passage := range r.Passages {
		pairs.Passages[i] = passage.Text
	}
	scores, err := s.Score(ctx, r.Model, pairs)
	if err != nil {
		return Response{}, err
	}
	return Response{Rankings: Order(scores.Logits)}, nil
}

// RankHosted is Rank for clients of hosted copies, which may ask for the best passages alone.
func (s *Service) RankHosted(ctx context.Context, h Hosted) (Response, error) {
	answer, err := s.Rank(ctx, *h.request())
	if h.TopK != nil {
		answer.Rankings = answer.Rankings[:min(*h.TopK, len(answer.Rankings))]
	}
	return answer, err
}

// Scores are those of all passages of a request, in their order.
type Scores struct {
	Model  string // public id
	Logits []float32
	Tokens int // of all pairs
}

// Score has a model score passages: the one with a public id, or the first where none is named.
func (s *Service) Score(ctx context.Context, id *string, p Pairs) (Scores, error) {
	model, err := s.find(id)
	if err != nil {
		return Scores{}, err
	}
	logits, tokens, err := model.Score(ctx, p)
	return Scores{Model: model.ID(), Logits: logits, Tokens: tokens}, err
}

// find returns the model that a request names, or the first.
func (s *Service) find(id *string) (Model, error) {
	if id == nil {
		return s.models.Default("")
	}
	return s.models.Find(*id)
}

// Order ranks passages by their logits, equal ones by their index.
func Order(logits []float32) []Rank {
	ranks := make([]Rank, len(logits))
	for i, logit := range logits {
		ranks[i] = Rank{Index: i, Logit: logit}
	}
	sort.SliceStable(ranks, func(i, j int) bool { return ranks[i].Logit > ranks[j].Logit })
	return ranks
}
