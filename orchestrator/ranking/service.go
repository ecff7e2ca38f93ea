package ranking

import (
	"cmp"
	"context"
	"slices"

	"retort/orchestrator/calibration"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton/discovery"
)

// Service is the ranking API over the models that Triton currently serves.
type Service struct {
	config Config
	models *discovery.Catalog[Model]
	interfaces
}

// New returns the service over a catalog of rankers.
func New(config Config, models *discovery.Catalog[Model]) *Service {
	return &Service{config: config, models: models}
}

// Ready returns nil if at least one model is served.
func (s *Service) Ready() error { return s.models.Ready() }

// MaxPassages returns the upper bound of passages in one request.
func (s *Service) MaxPassages() int { return s.config.MaxPassages }

// MaxDocuments returns the upper bound of documents in one request of package rerank.
func (s *Service) MaxDocuments() int { return s.config.MaxDocuments }

// Models returns the public ids of the models that are served.
func (s *Service) Models() []string { return s.models.IDs() }

// List answers GET /v1/models.
func (s *Service) List(context.Context) (Models, error) {
	list := Models{Object: "list", Data: []Listed{}}
	for _, id := range s.models.IDs() {
		list.Data = append(list.Data, Listed{ID: id})
	}
	return list, s.models.Ready()
}

// Rank sorts the passages of a request by logit.
func (s *Service) Rank(ctx context.Context, r Request) (Response, error) {
	if f := fault.Items(len(r.Passages), 1, s.config.MaxPassages, "passages"); f != nil {
		return Response{}, f
	}
	pairs := Pairs{
		Query:    r.Query.Text,
		Passages: make([]string, len(r.Passages)),
		Long:     map[string]Long{"NONE": Refuse, "END": Cut, "CHUNK": Chunk}[r.Truncate],
		Path:     func(i int) []any { return []any{"passages", i, "text"} },
	}
	for i, passage := range r.Passages {
		pairs.Passages[i] = passage.Text
	}
	scores, err := s.Score(ctx, r.Model, pairs)
	if err != nil {
		return Response{}, err
	}
	answer := Response{Rankings: Order(scores.Logits)}
	if pairs.Long != Refuse {
		answer.Usage = &Usage{
			PromptTokens:    scores.Read.Tokens,
			TotalTokens:     scores.Read.Tokens,
			TruncatedTokens: scores.Read.Truncated,
			Chunks:          scores.Read.Chunks,
		}
	}
	return answer, nil
}

// RankHosted is Rank with a limit on the passages returned.
func (s *Service) RankHosted(ctx context.Context, h HostedRequest) (Response, error) {
	answer, err := s.Rank(ctx, h.Request)
	if h.TopK != nil {
		answer.Rankings = answer.Rankings[:min(*h.TopK, len(answer.Rankings))]
	}
	return answer, err
}

// Scores are the logits of the passages of a request, in order.
type Scores struct {
	Model       string // public id
	Calibration calibration.Beta
	Logits      []float32
	Read        Reading
}

// Score scores passages with the model of a public id, or with the first model if id is nil.
func (s *Service) Score(ctx context.Context, id *string, p Pairs) (Scores, error) {
	model, err := s.Find(id)
	if err != nil {
		return Scores{}, err
	}
	logits, read, err := model.Score(ctx, p)
	return Scores{Model: model.ID(), Calibration: model.Calibration(), Logits: logits, Read: read}, err
}

// ScoreInputs scores inputs with the first model.
func (s *Service) ScoreInputs(ctx context.Context, in Inputs) (Scores, error) {
	model, err := s.Find(nil)
	if err != nil {
		return Scores{}, err
	}
	logits, read, err := model.ScoreInputs(ctx, in)
	return Scores{Model: model.ID(), Calibration: model.Calibration(), Logits: logits, Read: read}, err
}

// Find returns the model of a public id, or the first model if id is nil.
func (s *Service) Find(id *string) (Model, error) {
	if id == nil {
		return s.models.Default("")
	}
	return s.models.Find(*id)
}

// Order sorts passages by descending logit, equal ones by index.
func Order(logits []float32) []Rank {
	ranks := make([]Rank, len(logits))
	for i, logit := range logits {
		ranks[i] = Rank{Index: i, Logit: logit}
	}
	slices.SortStableFunc(ranks, func(a, b Rank) int { return cmp.Compare(b.Logit, a.Logit) })
	return ranks
}
