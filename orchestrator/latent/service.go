package latent

import (
	"context"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
)

// Service is the latent-space API over the models that Triton serves now.
type Service struct {
	config  Config
	models  *triton.Catalog[Model]
	oracles *triton.Catalog[*Oracle]
}

// New returns the service over a catalog of models and one of oracles.
func New(config Config, models *triton.Catalog[Model], oracles *triton.Catalog[*Oracle]) *Service {
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

// model is the one that requests, which name none, get.
func (s *Service) model() (Model, error) {
	return s.models.Default(s.config.Model)
}

// Embedding returns one vector per sequence: its hidden state, which is
// pooled by the encoder.
func (s *Service) Embedding(ctx context.Context, r Sequences) (Embeddings, error) {
	_, seeds, err := s.encode(ctx, r.Sequences, s.config.MaxSequences, sequence)
	if err != nil {
		return Embeddings{}, err
	}
	answer := Embeddings{Embeddings: make([][]float32, len(seeds))}
	for i := range seeds {
		answer.Embeddings[i] = seeds[i].hidden
	}
	return answer, nil
}

// Hidden returns the hidden states and their mask, as Decode takes them.
func (s *Service) Hidden(ctx context.Context, r Sequences) (Hidden, error) {
	_, seeds, err := s.encode(ctx, r.Sequences, s.config.MaxSequences, sequence)
	if err != nil {
		return Hidden{}, err
	}
	answer := Hidden{Hiddens: make([][][]float32, len(seeds)), Mask: make([][]bool, len(seeds))}
	for i := range seeds {
		answer.Hiddens[i], answer.Mask[i] = [][]float32{seeds[i].hidden}, []bool{true}
	}
	return answer, nil
}

// Decode returns one SMILES per hidden state, in order: canonical, or as the
// model wrote it where it is no molecule.
func (s *Service) Decode(ctx context.Context, r Hidden) (Decoded, error) {
	if f := fault.Items(len(r.Hiddens), 1, s.config.MaxHiddens, "hiddens"); f != nil {
		return Decoded{}, f
	}
	model, err := s.model()
	if err != nil {
		return Decoded{}, err
	}
	if err := sized(r.Hiddens, model.Space().Size()); err != nil {
		return Decoded{}, err
	}
	points := make([]Point, len(r.Hiddens))
	for i, states := range r.Hiddens {
		points[i].Hidden = states[0]
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

// sized checks the shape that the model wants: [N][1][size].
func sized(hiddens [][][]float32, size int) error {
	var problems []*fault.Error
	for i, states := range hiddens {
		if len(problems) == mostProblems {
			break
		}
		if f := fault.Items(len(states), 1, 1, "hiddens", i); f != nil {
			problems = append(problems, f)
		} else if f := fault.Items(len(states[0]), size, size, "hiddens", i, 0); f != nil {
			problems = append(problems, f)
		}
	}
	return fault.Join(problems...)
}

// Sampling returns molecules around each seed.
func (s *Service) Sampling(ctx context.Context, r Sampling) (Sampled, error) {
	model, seeds, err := s.encode(ctx, r.Sequences, s.config.MaxSeeds, sequence)
	if err != nil {
		return Sampled{}, err
	}
	streams := newStreams(r.Seed)
	samplers := make([]*sampler, len(seeds))
	for i, seed := range seeds {
		samplers[i] = newSampler(seed, streams.of(seed.smiles), r.NumMolecules, 1)
	}
	if err := explore(ctx, model, samplers, r.ScaledRadius, r.BeamSize, func(int, int) error { return nil }); err != nil {
		return Sampled{}, err
	}
	answer := Sampled{Generated: make([][]string, len(samplers))}
	for i, sampler := range samplers {
		answer.Generated[i] = sampler.result()
	}
	return answer, nil
}
