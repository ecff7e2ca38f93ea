package latent

import (
	"context"
	"slices"

	"retort/chem"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/oracle"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
)

// Service is the latent-space API over the models that Triton serves now.
type Service struct {
	config  Config
	models  *triton.Catalog[Model]
	oracles *oracle.Oracles
}

// New returns the service over a catalog of models and the oracles that may score molecules.
func New(config Config, models *triton.Catalog[Model], oracles *oracle.Oracles) *Service {
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

// Entry is the entry of the model list with a public id, nil where there is none.
func (s *Service) Entry(id string) any {
	list, _ := s.List(context.Background()) // without a model it is empty
	for _, entry := range list.Data {
		if entry.ID == id {
			return entry
		}
	}
	return nil
}

// model is the model of all requests, since they name none.
func (s *Service) model() (Model, error) { return s.models.Default(s.config.Model) }

// Embedding returns one vector per sequence: its hidden state, which the encoder pools to one vector.
func (s *Service) Embedding(ctx context.Context, r Sequences) (Embeddings, error) {
	_, seeds, err := s.seeds(ctx, r.Sequences, sequencePath)
	if err != nil {
		return Embeddings{}, err
	}
	answer := Embeddings{Embeddings: make([][]float32, len(seeds))}
	for i, seed := range seeds {
		answer.Embeddings[i] = seed.Hidden
	}
	return answer, nil
}

// Hidden returns the hidden states and their mask, as Decode takes them.
func (s *Service) Hidden(ctx context.Context, r Sequences) (Hidden, error) {
	_, seeds, err := s.seeds(ctx, r.Sequences, sequencePath)
	if err != nil {
		return Hidden{}, err
	}
	answer := Hidden{Hiddens: make([][][]float32, len(seeds)), Mask: make([][]bool, len(seeds))}
	for i, seed := range seeds {
		answer.Hiddens[i] = [][]float32{seed.Hidden}
		answer.Mask[i] = []bool{true}
	}
	return answer, nil
}

// Decode returns one SMILES per hidden state, in order: canonical, or as the model wrote it where it is no molecule.
func (s *Service) Decode(ctx context.Context, r Hidden) (Decoded, error) {
	model, err := s.model()
	if err != nil {
		return Decoded{}, err
	}
	if err := checkSize(r.Hiddens, model.Space().Size()); err != nil {
		return Decoded{}, err
	}
	points := make([]search.Point, len(r.Hiddens))
	for i, vectors := range r.Hiddens {
		points[i].Hidden = vectors[0]
	}
	telemetry.FromContext(ctx).AddRows(len(points))
	texts, err := model.Decode(ctx, points)
	if err != nil {
		return Decoded{}, err
	}
	results, err := chem.Evaluate(ctx, texts, chem.Options{})
	if err != nil {
		return Decoded{}, err
	}
	for i, result := range results {
		if result.Err == nil {
			texts[i] = result.Molecule.SMILES()
		}
	}
	return Decoded{Generated: texts}, nil
}

// Sampling returns molecules around each seed.
func (s *Service) Sampling(ctx context.Context, r Sampling) (Sampled, error) {
	model, seeds, err := s.seeds(ctx, r.Sequences, sequencePath)
	if err != nil {
		return Sampled{}, err
	}
	sampling := search.Sampling{
		Model: model, Seeds: seeds, Random: randomOf(r.Seed, slices.Collect(slices.Chunk(seeds, 1))),
		Molecules: r.NumMolecules, ScaledRadius: r.ScaledRadius, BeamSize: r.BeamSize,
	}
	found, err := sampling.Draw(ctx)
	return Sampled{Generated: found}, err
}
