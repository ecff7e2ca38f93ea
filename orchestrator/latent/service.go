package latent

import (
	"context"
	"slices"

	"retort/orchestrator/latent/search"
	"retort/orchestrator/oracle"
	"retort/orchestrator/triton/discovery"
)

// Service is the latent-space API over the models that Triton serves now.
type Service struct {
	config  Config
	models  *discovery.Catalog[Model]
	oracles *oracle.Oracles
}

// New returns the service over a catalog of models and the oracles that may score molecules.
func New(config Config, models *discovery.Catalog[Model], oracles *oracle.Oracles) *Service {
	return &Service{config: config, models: models, oracles: oracles}
}

// Ready returns nil when the model to serve is there.
func (s *Service) Ready() error {
	_, err := s.model()
	return err
}

// Models lists the public ids of the models served now.
func (s *Service) Models() []string { return s.models.IDs() }

// List is the model list.
func (s *Service) List(context.Context) (Models, error) {
	list := Models{Object: "list", Data: []Listed{}}
	for _, m := range s.models.All() {
		list.Data = append(list.Data, m.Facts())
	}
	return list, s.models.Ready()
}

// Entry is the entry of the model list with a public id. Its errors are those of a request that names the model.
func (s *Service) Entry(id string) (any, error) {
	m, err := s.models.Find(id)
	if err != nil {
		return nil, err
	}
	return m.Facts(), nil
}

// model is the model of all requests, since they name none.
func (s *Service) model() (Model, error) { return s.models.Default(s.config.Model) }

// Embedding returns one vector per sequence, of the model's own head for that or, where it has none, the hidden state,
// which the encoder pools to one vector. With skip_invalid what cannot be read has none.
func (s *Service) Embedding(ctx context.Context, r Sequences) (Embeddings, error) {
	g, err := s.given(ctx, r.Sequences, sequencePath, r.SkipInvalid)
	if err != nil {
		return Embeddings{}, err
	}
	vectors, err := g.model.Embed(ctx, g.tokens())
	if err != nil {
		return Embeddings{}, err
	}
	answer := Embeddings{Embeddings: make([]Row[float32], len(r.Sequences))}
	for k, i := range g.rows {
		answer.Embeddings[i] = vectors[k]
	}
	return answer, nil
}

// Hidden returns the hidden states and their mask, as Decode takes them.
func (s *Service) Hidden(ctx context.Context, r Sequences) (Hidden, error) {
	g, err := s.given(ctx, r.Sequences, sequencePath, r.SkipInvalid)
	if err == nil {
		err = g.encode(ctx)
	}
	if err != nil {
		return Hidden{}, err
	}
	answer := Hidden{Hiddens: make([]Row[[]float32], len(r.Sequences)), Mask: make([]Row[bool], len(r.Sequences))}
	for k, i := range g.rows {
		answer.Hiddens[i] = [][]float32{g.seeds[k].Hidden}
		answer.Mask[i] = []bool{true}
	}
	return answer, nil
}

// Sampling returns molecules around each seed.
func (s *Service) Sampling(ctx context.Context, r Sampling) (Sampled, error) {
	g, err := s.given(ctx, r.Sequences, sequencePath, r.SkipInvalid)
	if err == nil {
		err = g.encode(ctx)
	}
	if err != nil {
		return Sampled{}, err
	}
	sampling := search.Sampling{
		Model: g.model, Seeds: g.seeds, Random: randomOf(r.Seed, slices.Collect(slices.Chunk(g.seeds, 1))),
		Molecules: r.NumMolecules, ScaledRadius: r.ScaledRadius, BeamSize: r.BeamSize,
	}
	found, err := sampling.Draw(ctx)
	if err != nil {
		return Sampled{}, err
	}
	answer := Sampled{Generated: make([]Row[string], len(r.Sequences))}
	for k, i := range g.rows {
		answer.Generated[i] = found[k]
	}
	return answer, nil
}
