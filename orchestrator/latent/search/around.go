package search

import (
	"context"

	"retort/chem/cores"
)

// Around is the unguided search: it draws Molecules molecules around the seed, with at least Particles points in the
// first round, draws more in place of those that fail the filter, and fills a shortage with edits of the seed. No
// result is the seed. There are fewer results only if some molecules have no score or fail the filter, or if the seed
// has no neighbours.
func (s Search) Around(ctx context.Context) ([]*Molecule, error) {
	s.Model = yieldingModel{s.Model}
	return cores.Run(ctx, s.around)
}

func (s Search) around(ctx context.Context) ([]*Molecule, error) {
	u := newUnguided(s)
	err := u.explore(ctx)
	if err != nil && !u.objectiveFailed && s.FinalContext != nil {
		_ = u.score(s.FinalContext) // the search has failed already
	}
	return u.hallOfFame.best, err
}

// unguided is the state of an unguided search.
type unguided struct {
	Search
	sampler         *sampler
	evaluator       *evaluator
	hallOfFame      hallOfFame
	leftOut         int  // molecules that fail the filter
	scored          int  // number of the sampler's molecules that are scored
	points          int  // drawn so far
	objectiveFailed bool // for another reason than the end of the context
}

// maxLeftOut bounds the molecules that are drawn in place of those that fail the filter, in multiples of the first
// round.
const maxLeftOut = 3

func newUnguided(s Search) *unguided {
	return &unguided{
		Search:     s,
		sampler:    newSampler(s.Seeds[0], s.Random, s.Molecules, s.Particles, s.ScaledRadius),
		evaluator:  newEvaluator(s.Goal, s.Seeds, s.OnScored),
		hallOfFame: hallOfFame{goal: &s.Goal, size: s.Molecules},
	}
}

// explore draws the molecules, and scores them at the end of each round and after the shortage is filled.
func (u *unguided) explore(ctx context.Context) error {
	sampling := Sampling{Model: u.Model, ScaledRadius: u.ScaledRadius, BeamSize: 1}
	err := sampling.explore(ctx, []*sampler{u.sampler}, func(round, drawn int) error {
		return u.endRound(ctx, round, drawn)
	})
	if err != nil {
		return err
	}
	return u.score(ctx)
}

func (u *unguided) endRound(ctx context.Context, round, drawn int) error {
	if err := u.score(ctx); err != nil {
		return err
	}
	u.points += drawn
	return u.report(ctx, round, u.points, u.hallOfFame.best)
}

// score scores the molecules that the sampler has found since the last call.
func (u *unguided) score(ctx context.Context) error {
	molecules, _, err := u.evaluator.evaluate(ctx, u.sampler.found[u.scored:])
	for _, m := range molecules {
		switch {
		case m == nil:
		case m.Excess == 0:
			u.hallOfFame.add(m)
		default:
			u.leftOut++
		}
	}
	u.sampler.molecules = u.Molecules + min(u.leftOut, maxLeftOut*max(u.Particles, u.Molecules))
	if err != nil {
		u.objectiveFailed = ctx.Err() == nil
		return err
	}
	u.scored = len(u.sampler.found)
	return nil
}
