package masked

import (
	"context"
	"math/rand/v2"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/triton"
)

// Service is the masked-template API over the models that Triton serves now.
type Service struct {
	config Config
	models *triton.Catalog[Model]
}

// New returns the service over a catalog of models.
func New(config Config, models *triton.Catalog[Model]) *Service {
	return &Service{config: config, models: models}
}

// Ready returns nil when at least one model can serve.
func (s *Service) Ready() error { return s.models.Ready() }

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

// Generate fills the template's masks and returns molecules, best first. Fewer
// than asked for is a success: a row that is no molecule, or has lost a given
// fragment, is left out, as are doubles when unique ones are asked for.
func (s *Service) Generate(ctx context.Context, r Request) (Response, error) {
	return s.generate(ctx, r, nil)
}

// Stream is Generate with events on the way; the last is the Response.
func (s *Service) Stream(ctx context.Context, r Request, events *gateway.Events) error {
	response, err := s.generate(ctx, r, func(p Progress) error { return events.Send(p) })
	if err != nil {
		return err
	}
	return events.Send(response)
}

func (s *Service) generate(ctx context.Context, r Request, report func(Progress) error) (Response, error) {
	model, err := s.model(r)
	if err != nil {
		return Response{}, err
	}
	g := newGeneration(model, r, report)
	found, err := g.run(ctx)
	if err != nil {
		return Response{}, fault.As(err)
	}
	response := Response{Status: "success", Molecules: answer(found, bool(r.Scores))}
	if r.Scores {
		response.Drawn = g.drawn
	}
	return response, nil
}

// model is the one that the request names, or the default one: the published
// API has no such member, and gateways put names of their own there.
func (s *Service) model(r Request) (Model, error) {
	if err := s.models.Ready(); err != nil {
		return nil, err
	}
	all := s.models.All()
	asked, _ := r.Model.(string)
	for _, name := range []string{asked, s.config.Model} {
		for _, m := range all {
			if m.ID() == name {
				return m, nil
			}
		}
	}
	return all[0], nil
}

// scoring are the scores that molecules are ranked by: the higher, the better.
var scoring = map[string]struct {
	fact chem.Facts
	of   func(*chem.Molecule) float64
}{
	"QED":  {chem.FactQED, (*chem.Molecule).QED},
	"LogP": {chem.FactLogP, (*chem.Molecule).LogP},
}

// newGeneration is the work of one request.
func newGeneration(model Model, r Request, report func(Progress) error) *generation {
	g := &generation{
		model: model, request: r, template: r.Smiles, report: report,
		facts: scoring[r.Scoring].fact, score: scoring[r.Scoring].of, seed: rand.Uint64(),
	}
	if g.template == nil {
		g.template = &Template{}
	}
	if r.Scores {
		g.facts = chem.AllFacts &^ chem.FactFingerprint
	}
	if r.Seed != nil {
		g.seed = uint64(*r.Seed)
	}
	g.maker = &maker{model: model, minAddLen: int(r.MinAddLen), settings: Settings{
		Temperature: float32(r.Temperature), Noise: float32(r.Noise), Gamma: float32(r.Gamma), StepSize: int64(r.StepSize),
	}}
	return g
}
