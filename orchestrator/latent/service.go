package latent

import (
	"context"
	"slices"
	"strings"

	"retort/chem/synthesis"
	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/oracle"
	"retort/orchestrator/triton/discovery"
)

// Service is the latent-space API over the models that Triton serves now.
type Service struct {
	config  Config
	models  *discovery.Catalog[Model]
	oracles *oracle.Oracles
	planner *synthesis.Planner
}

// New returns the service over a catalog of models, the oracles that may score molecules, and the planner of their
// syntheses.
func New(
	config Config, models *discovery.Catalog[Model], oracles *oracle.Oracles, planner *synthesis.Planner,
) *Service {
	return &Service{config: config, models: models, oracles: oracles, planner: planner}
}

// Ready returns nil if the model to serve is loaded.
func (s *Service) Ready() error {
	_, err := s.model("")
	return err
}

// Models lists the public ids of the models that Triton serves now.
func (s *Service) Models() []string { return s.models.IDs() }

// List returns the model list.
func (s *Service) List(context.Context) (Models, error) {
	list := Models{Object: "list", Data: []ModelEntry{}}
	for _, m := range s.models.All() {
		list.Data = append(list.Data, m.Entry())
	}
	return list, s.models.Ready()
}

// Entry returns the entry of the model list with a public id. Its errors are the same as of a request for the model.
func (s *Service) Entry(id string) (any, error) {
	m, err := s.models.Find(id)
	if err != nil {
		return nil, err
	}
	return m.Entry(), nil
}

// model returns the model with a public id, or the default model for "".
func (s *Service) model(id string) (Model, error) {
	if id == "" {
		return s.models.Default(s.config.Model)
	}
	m, err := s.models.Find(id)
	if err != nil && fault.KindOf(err) == fault.NotFound {
		return nil, fault.Field("value_error", fault.Clip(id), []any{"model"},
			"Value error, no such model; the models are: %s", strings.Join(s.models.IDs(), ", "))
	}
	return m, err
}

// Embedding returns one vector per sequence: of the encoder's own output for embeddings if it has one, else the hidden
// state, to which the encoder pools the molecule.
func (s *Service) Embedding(ctx context.Context, r Sequences) (Embeddings, error) {
	seeds, err := s.readSequences(ctx, r.Model, r.Sequences, r.SkipInvalid)
	if err != nil {
		return Embeddings{}, err
	}
	vectors, err := seeds.model.Embed(ctx, seeds.tokens())
	if err != nil {
		return Embeddings{}, err
	}
	answer := Embeddings{Embeddings: make([]Row[float32], len(r.Sequences))}
	for k, row := range seeds.rows {
		answer.Embeddings[row] = vectors[k]
	}
	return answer, nil
}

// Hidden returns the hidden states and their mask, in the form that Decode takes.
func (s *Service) Hidden(ctx context.Context, r Sequences) (Hidden, error) {
	seeds, err := s.readSequences(ctx, r.Model, r.Sequences, r.SkipInvalid)
	if err == nil {
		err = seeds.encode(ctx)
	}
	if err != nil {
		return Hidden{}, err
	}
	answer := Hidden{
		Hiddens: make([]Row[[]float32], len(r.Sequences)),
		Mask:    make([]Row[bool], len(r.Sequences)),
		Model:   r.Model,
	}
	for k, row := range seeds.rows {
		hidden := seeds.list[k].Hidden
		answer.Hiddens[row] = slices.Collect(slices.Chunk(hidden, len(hidden)/seeds.model.Vectors()))
		answer.Mask[row] = slices.Repeat([]bool{true}, seeds.model.Vectors())
	}
	return answer, nil
}

// Sampling returns molecules around each seed.
func (s *Service) Sampling(ctx context.Context, r Sampling) (Sampled, error) {
	seeds, err := s.readSequences(ctx, r.Model, r.Sequences, r.SkipInvalid)
	if err == nil {
		err = seeds.encode(ctx)
	}
	if err != nil {
		return Sampled{}, err
	}
	sampling := search.Sampling{
		Model:        seeds.model,
		Seeds:        seeds.list,
		Random:       randomStreams(r.Seed, slices.Collect(slices.Chunk(seeds.list, 1))),
		Molecules:    r.NumMolecules,
		ScaledRadius: r.ScaledRadius,
		BeamSize:     r.BeamSize,
	}
	found, err := sampling.Draw(ctx)
	if err != nil {
		return Sampled{}, err
	}
	answer := Sampled{Generated: make([]Row[string], len(r.Sequences))}
	for k, row := range seeds.rows {
		answer.Generated[row] = found[k]
	}
	return answer, nil
}
