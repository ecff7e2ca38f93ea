package latent

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/objective"
	"retort/orchestrator/unfinished"
)

// maxSearches is the number of searches of one request that run at a time. They share calls to the model, and each
// holds a few hundred points in memory.
const maxSearches = 8

// searches are the searches of one request: one over all seeds if they are shared, else one per seed. Without seeds
// there is one.
type searches struct {
	request Generate
	target  target
	list    []search.Search
	rows    []int       // per search, its row of the answer
	results []result    // by row of the answer
	shown   []*Molecule // objects in Generated of the answer
}

// result is one row of the answer.
type result struct {
	found     []*search.Molecule   // best first; nil if the seed was skipped
	evaluated []*Molecule          // every molecule with a score, with Generate.Evaluated
	tradeoffs []objective.Tradeoff // every molecule that may be a result, with Generate.Pareto
	cutShort  bool                 // the search ended early
}

// newSearches returns the searches of a request. Each calls send with its progress.
func newSearches(r Generate, seeds seeds, target target, send func(Progress) error) *searches {
	s := &searches{request: r, target: target, results: make([]result, max(1, len(r.Smi.Smiles)))}
	groups := [][]search.Seed{seeds.list}
	s.rows = []int{0}
	if !r.Shared && len(r.Smi.Smiles) > 0 {
		groups = slices.Collect(slices.Chunk(seeds.list, 1))
		s.rows = seeds.rows
	}
	random := randomStreams(r.Seed, groups)
	for k, group := range groups {
		row := s.rows[k]
		s.results[row] = result{found: []*search.Molecule{}, cutShort: true}
		prepared := search.Search{
			Model:        seeds.model,
			Goal:         target.goal,
			Seeds:        group,
			KeepSeeds:    r.Shared,
			Random:       random[k],
			Molecules:    r.NumMolecules,
			Particles:    r.Particles,
			Iterations:   r.Iterations,
			CostlyScores: target.hasOracle(),
			LateScores:   target.objective.IsTold(),
			ScaledRadius: r.ScaledRadius,
			Known:        target.known.SMILES,
			OnProgress:   func(p search.Progress) error { return send(progressOf(r, row, p)) },
		}
		if len(r.Starts) > 0 {
			prepared.WarmStarts = r.Starts[min(row, len(r.Starts)-1)]
		}
		if r.Evaluated || r.Pareto {
			prepared.OnScored = s.results[row].recorder(r, target.goal, group)
		}
		s.list = append(s.list, prepared)
	}
	return s
}

// recorder returns a function that records scored molecules of a search from some seeds.
func (r *result) recorder(request Generate, goal search.Goal, seeds []search.Seed) func(*search.Molecule) {
	return func(m *search.Molecule) {
		isSeed := func(s search.Seed) bool { return s.SMILES == m.SMILES }
		if request.Evaluated {
			r.evaluated = append(r.evaluated, moleculeOf(m, false))
		}
		if request.Pareto && m.Similarity >= goal.MinSimilarity &&
			(request.Shared || !slices.ContainsFunc(seeds, isSeed)) {
			r.tradeoffs = append(r.tradeoffs, objective.Tradeoff{SMILES: m.SMILES, Score: m.Score})
		}
	}
}

// randomStreams returns a stream of random numbers for each search. With a seed, a stream depends only on the seed, the
// search's first molecule, and how often that molecule came before. So the result of a molecule does not depend on the
// other molecules of its request.
func randomStreams(seed *int64, groups [][]search.Seed) []*rand.Rand {
	key := rand.Uint64()
	if seed != nil {
		key = uint64(*seed)
	}
	repeats := map[string]int{}
	streams := make([]*rand.Rand, len(groups))
	for i, group := range groups {
		smiles := ""
		if len(group) > 0 {
			smiles = group[0].SMILES
		}
		hash := fnv.New64a()
		fmt.Fprintf(hash, "%s\n%d", smiles, repeats[smiles])
		repeats[smiles]++
		streams[i] = rand.New(rand.NewPCG(key, hash.Sum64()))
	}
	return streams
}

// run runs the searches. The first error ends all of them, and the results have the molecules so far. finalContext is
// for scoring molecules that an unguided search had drawn when ctx ended.
func (s *searches) run(ctx, finalContext context.Context) error {
	algorithm := search.Search.Around
	if s.request.Algorithm == guided {
		algorithm = search.Search.Optimize
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxSearches)
	for k := range s.list {
		s.list[k].FinalContext = finalContext
		group.Go(fault.WithRecover(func() error {
			found, err := algorithm(s.list[k], ctx)
			result := &s.results[s.rows[k]]
			if found != nil {
				result.found = found
			}
			result.cutShort = err != nil
			return err
		}))
	}
	return group.Wait()
}

// hasNews reports whether the answer would have a molecule or a score that the client does not know. It knows the known
// molecules, the seeds, and their scores unless the request has an objective.
func (s *searches) hasNews() bool {
	known := map[string]bool{}
	if s.request.Objective == nil {
		for _, prepared := range s.list {
			for _, seed := range prepared.Seeds {
				known[seed.SMILES] = true
			}
		}
	}
	for _, smiles := range s.target.known.SMILES {
		known[smiles] = true
	}
	for _, r := range s.results {
		if slices.ContainsFunc(r.found, func(m *search.Molecule) bool { return !known[m.SMILES] }) ||
			slices.ContainsFunc(r.evaluated, func(m *Molecule) bool { return !known[m.Smiles] }) {
			return true
		}
	}
	return false
}

// answer returns the results in the form of the request, or else in the default form. explanation says why searches
// ended early; nil if none did.
func (s *searches) answer(defaultForm string, explanation *unfinished.Explanation) Generated {
	r := s.request
	asList := r.Smi.List && !r.Shared
	answer := Generated{LeftOut: s.target.filter.LeftOut()}
	if explanation != nil {
		answer.Unfinished = &Unfinished{Explanation: *explanation}
	}
	var tradeoffs []objective.Tradeoff
	for _, result := range s.results {
		tradeoffs = append(tradeoffs, result.tradeoffs...)
	}
	answer.Pareto = s.target.front.Of(tradeoffs, r.Minimize)
	rows := make([]any, len(s.results))
	for i, result := range s.results {
		answer.Evaluated = append(answer.Evaluated, result.evaluated...)
		if result.cutShort && asList && explanation != nil {
			answer.Unfinished.Seeds = append(answer.Unfinished.Seeds, i)
		}
		switch {
		case result.found == nil:
		case r.objects(defaultForm):
			molecules := moleculesOf(result.found, r.IncludeScores)
			s.shown = append(s.shown, molecules...)
			rows[i] = molecules
		default:
			rows[i] = smilesOf(result.found)
		}
	}
	answer.Generated = rows[0]
	if asList && len(r.Smi.Smiles) > 0 {
		answer.Generated = rows
	}
	return answer
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

func moleculeOf(m *search.Molecule, similarity bool) *Molecule {
	out := &Molecule{Smiles: m.SMILES, Score: m.Score}
	if similarity {
		out.Similarity = &m.Similarity
	}
	return out
}

func progressOf(r Generate, row int, p search.Progress) Progress {
	event := Progress{Seed: row, Iteration: p.Iteration, Evaluations: p.Evaluations}
	if p.Best != nil {
		event.Best = moleculeOf(p.Best, true)
	}
	if r.Checkpoints {
		event.Found = moleculesOf(p.Found, true)
	}
	return event
}
