package latent

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	"golang.org/x/sync/errgroup"
)

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
		candidates, _, err := judges.judge(ctx, around.found[judged:])
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
