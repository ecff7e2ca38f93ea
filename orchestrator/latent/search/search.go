package search

import (
	"context"
	"math/rand/v2"

	"retort/chem/cores"
)

// Search is one search from one seed, several or none. Its value can be used once, since its random numbers go on.
type Search struct {
	Model Model
	Goal  Goal
	// Seeds are the molecules to start from; of several, similarity is that to the most similar one. Optimize without any
	// draws molecules of its own first. Around has one.
	Seeds  []Seed
	Random *rand.Rand // of this search alone: the same numbers give the same result

	Molecules  int // how many to return at most; at least 1
	Particles  int // evaluations an iteration, at least 2; for Around, the fewest points of a round
	Iterations int // of Optimize; at least 1
	// ScaledRadius is the radius of Around: the standard deviation of the noise per coordinate, in units of the space's
	// radius.
	ScaledRadius float64

	// WarmStarts are SMILES that Optimize begins with beside its seeds, such as what an earlier search found. They may be
	// results; similarity is not that to them. What cannot be read is left out.
	WarmStarts []string
	// KeepSeeds lets seeds be results.
	KeepSeeds bool
	// Evaluated is told of every molecule that has a score, once, in the order in which they are found; nil for no one.
	Evaluated func(*Molecule)

	// Watch is told of every iteration or round as it ends; nil for no one. Its error ends the search.
	Watch func(Progress) error
	// Last is the context in which Around scores what it had drawn when its own context ended; nil for that one.
	Last context.Context
}

// Progress is how far a search has come.
type Progress struct {
	Iteration   int       // from 1
	Evaluations int       // texts evaluated so far; with Optimize distinct ones
	Best        *Molecule // nil while none meets the constraint
	// Found are the results so far, best first. They are not to be changed, and change with the next iteration.
	Found []*Molecule
}

func (s *Search) report(ctx context.Context, iteration, evaluations int, found []*Molecule) error {
	if s.Watch == nil {
		return nil
	}
	progress := Progress{Iteration: iteration, Evaluations: evaluations, Found: found}
	if len(found) > 0 {
		progress.Best = found[0]
	}
	_, err := cores.Yield(ctx, func() (struct{}, error) { return struct{}{}, s.Watch(progress) })
	return err
}

// Around is the unguided search: it draws molecules around the seed, at least Particles points in the first round, until
// there are Molecules of them, and fills places that are left with edits of the seed. They are returned best first,
// distinct, and none of them is the seed. Fewer come back only where some have no score, or a seed has no neighbours.
// Beside an error, the end of ctx among them, comes what it had found until then.
func (s Search) Around(ctx context.Context) ([]*Molecule, error) {
	s.Model = yieldingModel{s.Model}
	return cores.Run(ctx, s.around)
}

func (s Search) around(ctx context.Context) ([]*Molecule, error) {
	draws := newSampler(s.Seeds[0], s.Random, s.Molecules, s.Particles, s.ScaledRadius)
	evaluator := newEvaluator(s.Goal, s.Seeds, s.Evaluated)
	hallOfFame := hallOfFame{goal: &s.Goal, size: s.Molecules}
	sampling := Sampling{Model: s.Model, ScaledRadius: s.ScaledRadius, BeamSize: 1}
	evaluated := 0  // of draws.found
	failed := false // whether the objective failed, not because the context ended
	score := func(ctx context.Context) error {
		molecules, _, err := evaluator.evaluate(ctx, draws.found[evaluated:])
		for _, m := range molecules {
			if m != nil {
				hallOfFame.add(m)
			}
		}
		if err == nil {
			evaluated = len(draws.found)
		}
		failed = err != nil && ctx.Err() == nil
		return err
	}
	evaluations := 0
	err := sampling.explore(ctx, []*sampler{draws}, func(round, drawn int) error {
		if err := score(ctx); err != nil {
			return err
		}
		evaluations += drawn
		return s.report(ctx, round, evaluations, hallOfFame.best)
	})
	if err == nil {
		err = score(ctx)
	}
	if err != nil && !failed && s.Last != nil {
		_ = score(s.Last) // the search has failed already
	}
	return hallOfFame.best, err
}
