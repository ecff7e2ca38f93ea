package latent

import (
	"context"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/unfinished"
)

// Generate returns molecules from each seed, best first. Work that is ended before it is done (unfinished.Reason)
// answers what it has found until then.
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

// maxSearches is how many seeds of one request are worked on side by side. They share calls to the model, and each
// holds a few hundred points in memory.
const maxSearches = 8

func (s *Service) generate(ctx context.Context, r Generate, send func(Progress) error) (Generated, error) {
	goal, opened, err := goalOf(r, s.oracles.All())
	if err != nil {
		return Generated{}, err
	}
	g, err := s.starting(ctx, r)
	if err != nil {
		return Generated{}, err
	}
	if err := s.probe(ctx, r, opened); err != nil {
		return Generated{}, err
	}
	work, end := unfinished.Begin(ctx)
	defer end()
	last, endLast := unfinished.Last(ctx, work)
	defer endLast()
	starts := starts(r, g.seeds)
	random := randomOf(r.Seed, starts)
	results := newResults(max(1, len(r.Smi.Smiles)))
	group, searching := errgroup.WithContext(work)
	group.SetLimit(maxSearches)
	for k, start := range starts {
		i := 0 // the row of the answer
		if len(start) > 0 && !r.Shared {
			i = g.rows[k]
		}
		results.begin(i)
		var begun []string
		if k := min(i, len(r.Starts)-1); k >= 0 {
			begun = r.Starts[k]
		}
		one := search.Search{
			Model: g.model, Goal: goal, Seeds: start, Starts: begun, KeepSeeds: r.Shared, Random: random[k],
			Molecules: r.NumMolecules, Particles: r.Particles, Iterations: r.Iterations, ScaledRadius: r.ScaledRadius,
			Watch: func(p search.Progress) error { return send(progressOf(r, i, p)) }, Last: last,
		}
		if r.Evaluated {
			one.Evaluated = func(m *search.Molecule) { results.evaluated[i] = append(results.evaluated[i], moleculeOf(m, false)) }
		}
		group.Go(fault.Guard(func() error {
			run := search.Search.Around
			if r.Algorithm == guided {
				run = search.Search.Optimize
			}
			molecules, err := run(one, searching)
			results.end(i, molecules, err)
			return err
		}))
	}
	cut, err := unfinished.Of(ctx, work, group.Wait(), results.any(g.seeds, r.Objective != nil))
	if err != nil {
		return Generated{}, err
	}
	answer := s.answer(r, results.found)
	answer.Evaluated = slices.Concat(results.evaluated...)
	answer.Unfinished = results.unfinished(r, cut)
	return answer, nil
}

// starting reads and encodes the seeds of a request. A shared search of which every seed was skipped would start from
// none, which is not what was asked for: it is refused.
func (s *Service) starting(ctx context.Context, r Generate) (given, error) {
	g, err := s.given(ctx, r.Smi.Smiles, r.Smi.path, r.SkipInvalid && r.Smi.List)
	if err == nil && r.Shared && len(g.seeds) == 0 {
		g, err = s.given(ctx, r.Smi.Smiles, r.Smi.path, false)
	}
	if err == nil {
		err = g.encode(ctx)
	}
	return g, err
}

// starts are the seeds of each search: one each, or all of one. Without any in the request one search starts from none.
func starts(r Generate, seeds []search.Seed) [][]search.Seed {
	if r.Shared || len(r.Smi.Smiles) == 0 {
		return [][]search.Seed{seeds}
	}
	return slices.Collect(slices.Chunk(seeds, 1))
}

// randomOf gives each search a stream of random numbers. With the number of a request they are the same each time.
func randomOf(number *int64, starts [][]search.Seed) []*rand.Rand {
	streams := search.NewStreams(rand.Uint64())
	if number != nil {
		streams = search.NewStreams(uint64(*number))
	}
	random := make([]*rand.Rand, len(starts))
	for i, start := range starts {
		name := ""
		if len(start) > 0 {
			name = start[0].SMILES
		}
		random[i] = streams.Next(name)
	}
	return random
}

// answer writes what was found in the form that was asked for.
func (s *Service) answer(r Generate, found [][]*search.Molecule) Generated {
	lists := make([]any, len(found))
	for i, molecules := range found {
		if molecules == nil {
			continue
		}
		if r.objects(s.config.Generated) {
			lists[i] = moleculesOf(molecules, r.IncludeScores)
		} else {
			lists[i] = smilesOf(molecules)
		}
	}
	if r.Smi.List && !r.Shared && len(r.Smi.Smiles) > 0 {
		return Generated{Generated: lists}
	}
	return Generated{Generated: lists[0]}
}

func smilesOf(molecules []*search.Molecule) []string {
	smiles := make([]string, len(molecules))
	for i, m := range molecules {
		smiles[i] = m.SMILES
	}
	return smiles
}

func moleculesOf(molecules []*search.Molecule, similarity bool) []*Molecule {
	out := make([]*Molecule, len(molecules))
	for i, m := range molecules {
		out[i] = moleculeOf(m, similarity)
	}
	return out
}

func progressOf(r Generate, seed int, p search.Progress) Progress {
	event := Progress{Seed: seed, Iteration: p.Iteration, Evaluations: p.Evaluations}
	if p.Best != nil {
		event.Best = moleculeOf(p.Best, true)
	}
	if r.Checkpoints {
		event.Found = moleculesOf(p.Found, true)
	}
	return event
}

func moleculeOf(m *search.Molecule, similarity bool) *Molecule {
	out := &Molecule{Smiles: m.SMILES, Score: m.Score}
	if similarity {
		out.Similarity = &m.Similarity
	}
	return out
}
