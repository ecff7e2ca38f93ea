package masked

import (
	"context"
	"math/rand/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/oracle"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/unfinished"
)

// Service is the masked-template API over the models that Triton serves now.
type Service struct {
	config Config
	models *discovery.Catalog[Model]

	oracles *oracle.Oracles
}

// New returns the service over a catalog of models and the oracles that may score molecules.
func New(config Config, models *discovery.Catalog[Model], oracles *oracle.Oracles) *Service {
	return &Service{config: config, models: models, oracles: oracles}
}

// Ready returns nil when a request that names no model can be served.
func (s *Service) Ready() error {
	_, err := s.model("")
	return err
}

// Models lists the ids of the models served now.
func (s *Service) Models() []string {
	ids := []string{}
	for _, m := range s.models.All() {
		ids = append(ids, m.ID())
	}
	return ids
}

// List is the model list.
func (s *Service) List(context.Context) (Models, error) {
	return Models{AvailableModels: s.Models()}, s.models.Ready()
}

// Generate fills the template's masks and returns molecules, best first. Fewer than asked for is a success: a row that
// is no molecule, or has lost a given fragment, is left out, and repeated molecules are when unique ones are asked for.
// Work that is ended before it is done (unfinished.Reason) answers what it has found until then.
func (s *Service) Generate(ctx context.Context, r Request) (Response, error) {
	return s.generate(ctx, r, nil)
}

// Stream is Generate with events on the way: each is a Progress, the last the Response. An error of send ends the work.
func (s *Service) Stream(ctx context.Context, r Request, send func(event any) error) error {
	response, err := s.generate(ctx, r, func(p Progress) error { return send(p) })
	if err != nil {
		return err
	}
	return send(response)
}

func (s *Service) generate(ctx context.Context, r Request, report func(Progress) error) (Response, error) {
	named, _ := r.Model.(string)
	model, err := s.model(named)
	if err != nil {
		return Response{}, err
	}
	scorer, err := s.scorer(ctx, r)
	if err != nil {
		return Response{}, fault.As(err)
	}
	g := newGeneration(model, r, scorer, report)
	work, end := unfinished.Begin(ctx)
	defer end()
	last, endLast := unfinished.Last(ctx, work)
	defer endLast()
	g.last = last
	found, err := g.run(work)
	cut, err := unfinished.Of(ctx, work, err, g.isNew(found, scorer))
	if err != nil {
		return Response{}, fault.As(err)
	}
	response := Response{Status: "success", Molecules: g.answer(found), Unfinished: cut}
	if r.Scores {
		response.Drawn = g.drawn
	}
	if r.Evaluated {
		response.Evaluated = scorer.evaluated()
	}
	return response, nil
}

// model returns the model with an id, and the default one where there is no such model: the published API has no member
// that names a model, and gateways in front of us put other names there. A default model that is configured and absent
// is Unavailable.
func (s *Service) model(named string) (Model, error) {
	if err := s.models.Ready(); err != nil {
		return nil, err
	}
	for _, id := range []string{named, s.config.Model} {
		for _, m := range s.models.All() {
			if m.ID() == id {
				return m, nil
			}
		}
	}
	return s.models.Default(s.config.Model)
}

// newGeneration prepares the work of one request.
func newGeneration(model Model, r Request, scorer *scorer, report func(Progress) error) *generation {
	g := &generation{
		model:    model,
		request:  r,
		template: r.Smiles,
		seed:     rand.Uint64(),
		facts:    scorer.Facts(),
		scorer:   scorer,
		report:   report,
		drafter: &drafter{
			model:     model,
			minAddLen: int(r.MinAddLen),
			quality:   bool(r.Quality),
			settings: Settings{
				Temperature: float32(r.Temperature),
				Noise:       float32(r.Noise),
				Gamma:       float32(r.Gamma),
				StepSize:    int64(r.StepSize),
			},
		},
	}
	if g.template == nil {
		g.template = &Template{}
	}
	g.drafter.own = g.template
	if r.Scores {
		g.facts |= factsOfScores
	}
	if r.Seed != nil {
		g.seed = uint64(*r.Seed)
	}
	return g
}
