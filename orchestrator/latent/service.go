package latent

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

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
	if err := s.models.Ready(); err != nil {
		return nil, err
	}
	if s.config.Model != "" {
		if m, ok := s.models.Find(s.config.Model); ok {
			return m, nil
		}
	} else if all := s.models.All(); len(all) > 0 {
		return all[0], nil
	}
	return nil, &fault.Error{Kind: fault.Unavailable, Message: "Service is not ready: model " + s.config.Model + " is not loaded.", RetryAfter: time.Second}
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

// Generate returns molecules from each seed, best first.
func (s *Service) Generate(ctx context.Context, r Generate) (Generated, error) {
	return s.generate(ctx, r, func(Progress) error { return nil })
}

// Watch is Generate as a stream: an event per iteration and seed, the answer last.
func (s *Service) Watch(ctx context.Context, r Generate, send func(any) error) error {
	answer, err := s.generate(ctx, r, func(p Progress) error { return send(p) })
	if err != nil {
		return err
	}
	return send(answer)
}

// seedsAtOnce is how many seeds of one request are worked on side by side: they
// share calls, and each holds a population in memory.
const seedsAtOnce = 32

func (s *Service) generate(ctx context.Context, r Generate, send func(Progress) error) (Generated, error) {
	goal, err := goalOf(r, s.oracles.All())
	if err != nil {
		return Generated{}, err
	}
	model, seeds, err := s.encode(ctx, r.Smi.Smiles, s.config.MaxSeeds, r.Smi.path)
	if err != nil {
		return Generated{}, err
	}
	streams := newStreams(r.Seed)
	found := make([][]*candidate, len(seeds))
	work, together := errgroup.WithContext(ctx)
	work.SetLimit(seedsAtOnce)
	for i, seed := range seeds {
		random := streams.of(seed.smiles)
		work.Go(func() (err error) {
			watch := func(iteration, evaluations int, best *candidate) error {
				return send(Progress{Seed: i, Iteration: iteration, Evaluations: evaluations, Best: best.molecule(true)})
			}
			if r.Algorithm == guided {
				found[i], err = newSearch(model, r, goal, seed, random).optimize(together, watch)
			} else {
				found[i], err = around(together, model, r, goal, seed, random, watch)
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return Generated{}, err
	}
	return s.answer(r, found), nil
}

// around is the algorithm "none": molecules drawn around a seed, best first.
func around(ctx context.Context, model Model, r Generate, g *goal, s seed, random *rand.Rand, watch func(int, int, *candidate) error) ([]*candidate, error) {
	around := newSampler(s, random, r.NumMolecules, r.Particles)
	judges, podium := jury{goal: g, seed: s}, podium{goal: g, most: r.NumMolecules}
	evaluations, judged := 0, 0
	err := explore(ctx, model, []*sampler{around}, r.ScaledRadius, 1, func(round, drawn int) error {
		candidates, err := judges.judge(ctx, around.found[judged:])
		if err != nil {
			return err
		}
		evaluations, judged = evaluations+drawn, len(around.found)
		for _, c := range candidates {
			if c != nil {
				podium.add(c)
			}
		}
		var best *candidate
		if len(podium.best) > 0 {
			best = podium.best[0]
		}
		return watch(round, evaluations, best)
	})
	return podium.best, err
}

// answer writes what was found in the form that was asked for.
func (s *Service) answer(r Generate, found [][]*candidate) Generated {
	lists := make([]any, len(found))
	for i, candidates := range found {
		if !r.IncludeScores && s.config.Generated != "objects" {
			smiles := make([]string, len(candidates))
			for k, c := range candidates {
				smiles[k] = c.smiles
			}
			lists[i] = smiles
			continue
		}
		molecules := make([]*Molecule, len(candidates))
		for k, c := range candidates {
			molecules[k] = c.molecule(r.IncludeScores)
		}
		lists[i] = molecules
	}
	if r.Smi.List {
		return Generated{lists}
	}
	return Generated{lists[0]}
}

// molecule is c on the wire, nil for none.
func (c *candidate) molecule(similarity bool) *Molecule {
	if c == nil {
		return nil
	}
	m := &Molecule{Smiles: c.smiles, Score: c.score}
	if similarity {
		m.Similarity = &c.similarity
	}
	return m
}

// streams hands out random streams. With a seed they are the same each time,
// and depend only on the molecule and on how often it came before, so that a
// molecule's result does not depend on its neighbours in a request.
type streams struct {
	seed  uint64
	times map[string]int
}

func newStreams(seed *int64) *streams {
	s := &streams{seed: rand.Uint64(), times: map[string]int{}}
	if seed != nil {
		s.seed = uint64(*seed)
	}
	return s
}

func (s *streams) of(smiles string) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(smiles + "\n" + strconv.Itoa(s.times[smiles])))
	s.times[smiles]++
	return rand.New(rand.NewPCG(s.seed, hash.Sum64()))
}
