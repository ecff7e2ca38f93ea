package masked

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"retort/chem/synthesis"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/oracle"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/unfinished"
)

// Service is the masked-template API over the models that Triton currently serves.
type Service struct {
	config  Config
	models  *discovery.Catalog[Model]
	oracles *oracle.Oracles
	planner *synthesis.Planner
}

// New returns the service over a catalog of models, the oracles that objectives may name, and the planner of syntheses.
func New(
	config Config, models *discovery.Catalog[Model], oracles *oracle.Oracles, planner *synthesis.Planner,
) *Service {
	return &Service{config: config, models: models, oracles: oracles, planner: planner}
}

// Ready returns nil if a request that names no model can be served.
func (s *Service) Ready() error {
	_, err := s.model("")
	return err
}

// Models returns the public ids of the models that are served.
func (s *Service) Models() []string {
	ids := []string{}
	for _, m := range s.models.All() {
		ids = append(ids, m.ID())
	}
	return ids
}

// List answers GET /v1/models.
func (s *Service) List(context.Context) (Models, error) {
	return Models{AvailableModels: s.Models()}, s.models.Ready()
}

// Generate fills the masks of the template and returns molecules, best first. It may return fewer than NumMolecules:
// rows that are no molecule or lack a given fragment are dropped, and so are duplicates if Unique is set. If the
// generation ends early with an unfinished.Reason, the answer has the molecules found so far.
func (s *Service) Generate(ctx context.Context, r Request) (Response, error) {
	return s.generate(ctx, r, nil)
}

// Stream is Generate with progress: it sends Progress events, then the Response. An error of send ends the generation.
func (s *Service) Stream(ctx context.Context, r Request, send func(event any) error) error {
	response, err := s.generate(ctx, r, func(p Progress) error { return send(p) })
	if err != nil {
		return err
	}
	return send(response)
}

func (s *Service) generate(ctx context.Context, r Request, report func(Progress) error) (Response, error) {
	id, _ := r.Model.(string)
	model, err := s.model(id)
	if err != nil {
		return Response{}, err
	}
	known, err := objective.ReadKnown(ctx, r.Known, false)
	if err != nil {
		return Response{}, fault.As(err)
	}
	if len(r.Smi) == 0 && r.Rounds > 0 {
		r.Smi = bestKnown(known)
	}
	scorer, err := s.scorer(ctx, r, model.Seen(), known)
	if err != nil {
		return Response{}, fault.As(err)
	}
	g := newGeneration(model, r, scorer, report)
	work, end := unfinished.Begin(ctx)
	defer end()
	scoring, endScoring := unfinished.BeginScoring(ctx, work)
	defer endScoring()
	g.finalContext = scoring
	candidates, err := g.run(work)
	explanation, err := unfinished.Explain(ctx, work, err, g.hasNews(candidates))
	if err != nil {
		return Response{}, fault.As(err)
	}
	response := Response{
		Status: "success", Molecules: g.molecules(candidates), LeftOut: scorer.filter.LeftOut(), Unfinished: explanation,
	}
	if err := g.addValues(ctx, candidates, response.Molecules); err != nil {
		return Response{}, fault.As(err)
	}
	if r.Scores.any() {
		response.Drawn = g.drawn
	}
	response.Pareto = scorer.pareto()
	if r.Evaluated {
		response.Evaluated = scorer.evaluatedMolecules()
	}
	return response, nil
}

// bestKnown returns the known molecules with the highest scores, as many as remasking draws from.
func bestKnown(known *objective.KnownScores) []string {
	best := slices.DeleteFunc(slices.Clone(known.SMILES), func(smiles string) bool {
		return math.IsNaN(known.Score(smiles))
	})
	slices.SortStableFunc(best, func(a, b string) int { return cmp.Compare(known.Score(b), known.Score(a)) })
	return best[:min(len(best), poolBest)]
}

// model returns the model with a public id, or the default model if there is none: the published API has no member
// that names a model, and gateways in front of Retort put other names there. It fails with Unavailable if the
// configured default model is not loaded.
func (s *Service) model(id string) (Model, error) {
	if err := s.models.Ready(); err != nil {
		return nil, err
	}
	for _, id := range []string{id, s.config.Model} {
		for _, m := range s.models.All() {
			if m.ID() == id {
				return m, nil
			}
		}
	}
	return s.models.Default(s.config.Model)
}

// newGeneration returns the generation of one request; report is nil without a stream.
func newGeneration(model Model, r Request, scorer *scorer, report func(Progress) error) *generation {
	g := &generation{
		model:    model,
		request:  r,
		template: r.Smiles,
		seed:     rand.Uint64(),
		facts:    scorer.Facts() | scorer.filter.Facts() | scorer.values.Facts(),
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
	g.drafter.fallback = g.template
	if r.Scores.All {
		g.facts |= factsOfScores
	}
	if r.Seed != nil {
		g.seed = uint64(*r.Seed)
	}
	return g
}
