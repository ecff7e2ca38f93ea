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

// maxSearches is how many searches of one request run at a time. They share calls to the model, and each holds a few
// hundred points in memory.
const maxSearches = 8

// searches are the searches of one request: one over all seeds if they are shared, else one per seed. Without seeds
// there is one.
type searches struct {
	request Generate
	list    []search.Search
	rows    []int    // row of the answer of each search
	results []result // by row of the answer
}

// result is one row of the answer.
type result struct {
	found     []*search.Molecule // best first; nil if the seed was skipped
	evaluated []*Molecule        // every molecule with a score, with Generate.Evaluated
	cutShort  bool               // the search has not come to its end
}

// newSearches returns the searches of a request, and has their progress sent.
func newSearches(r Generate, seeds seeds, goal search.Goal, send func(Progress) error) *searches {
	s := &searches{request: r, results: make([]result, max(1, len(r.Smi.Smiles)))}
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
		one := search.Search{
			Model:        seeds.model,
			Goal:         goal,
			Seeds:        group,
			KeepSeeds:    r.Shared,
			Random:       random[k],
			Molecules:    r.NumMolecules,
			Particles:    r.Particles,
			Iterations:   r.Iterations,
			ScaledRadius: r.ScaledRadius,
			Watch:        func(p search.Progress) error { return send(progressOf(r, row, p)) },
		}
		if len(r.Starts) > 0 {
			one.WarmStarts = r.Starts[min(row, len(r.Starts)-1)]
		}
		if r.Evaluated {
			evaluated := &s.results[row].evaluated
			one.Evaluated = func(m *search.Molecule) { *evaluated = append(*evaluated, moleculeOf(m, false)) }
		}
		s.list = append(s.list, one)
	}
	return s
}

// randomStreams returns a stream of random numbers for each search: the same ones each time if the request has a seed
// for them.
func randomStreams(seed *int64, groups [][]search.Seed) []*rand.Rand {
	streams := search.NewStreams(rand.Uint64())
	if seed != nil {
		streams = search.NewStreams(uint64(*seed))
	}
	random := make([]*rand.Rand, len(groups))
	for i, group := range groups {
		smiles := ""
		if len(group) > 0 {
			smiles = group[0].SMILES
		}
		random[i] = streams.Next(smiles)
	}
	return random
}

// run runs the searches. The first error ends all of them; what they have found until then is in the results. last is
// the context in which an unguided search scores what it has drawn when ctx has ended.
func (s *searches) run(ctx, last context.Context) error {
	algorithm := search.Search.Around
	if s.request.Algorithm == guided {
		algorithm = search.Search.Optimize
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxSearches)
	for k, one := range s.list {
		one.Last = last
		group.Go(fault.WithRecover(func() error {
			found, err := algorithm(one, ctx)
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

// hasNews reports whether the answer would show the client a molecule or a score that it does not know. The seeds are
// known, unless an objective of the client's own has scored them.
func (s *searches) hasNews() bool {
	known := map[string]bool{}
	if s.request.Objective == nil {
		for _, one := range s.list {
			for _, seed := range one.Seeds {
				known[seed.SMILES] = true
			}
		}
	}
	for _, r := range s.results {
		if slices.ContainsFunc(r.found, func(m *search.Molecule) bool { return !known[m.SMILES] }) ||
			slices.ContainsFunc(r.evaluated, func(m *Molecule) bool { return !known[m.Smiles] }) {
			return true
		}
	}
	return false
}

// answer writes the results in the form that the request asks for, or else the setting. mark says what cut the searches
// short, nil for nothing.
func (s *searches) answer(setting string, mark *unfinished.Mark) Generated {
	r := s.request
	asList := r.Smi.List && !r.Shared
	var answer Generated
	if mark != nil {
		answer.Unfinished = &Unfinished{Mark: *mark}
	}
	rows := make([]any, len(s.results))
	for i, result := range s.results {
		answer.Evaluated = append(answer.Evaluated, result.evaluated...)
		if result.cutShort && asList && mark != nil {
			answer.Unfinished.Seeds = append(answer.Unfinished.Seeds, i)
		}
		switch {
		case result.found == nil:
		case r.objects(setting):
			rows[i] = moleculesOf(result.found, r.IncludeScores)
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
