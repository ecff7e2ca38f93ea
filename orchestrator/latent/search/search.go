package search

import (
	"context"
	"math/rand/v2"

	"retort/chem/cores"
)

// Search is one search. It can run once, since a run consumes its random numbers.
type Search struct {
	Model Model
	Goal  Goal
	// Seeds may be empty for Optimize, which then samples its first parents from the model. Around needs exactly one.
	Seeds  []Seed
	Random *rand.Rand // of this search alone: the same numbers give the same results

	Molecules  int // upper bound of the results; at least 1
	Particles  int // for Optimize, evaluations per iteration, at least 2; for Around, least points of the first round
	Iterations int // of Optimize; at least 1
	// ScaledRadius is the radius of Around: the standard deviation of the noise per coordinate, in units of the space's
	// radius.
	ScaledRadius float64

	// CostlyScores says that a score may cost much more than the choice of a molecule, as that of an oracle. Optimize
	// then spends more work on the choice.
	CostlyScores bool
	// LateScores says that a molecule without a score may have one when it is scored again together with others. Then
	// Optimize scores all molecules without a score again in each iteration, at no evaluation.
	LateScores bool
	// WarmStarts are the SMILES of the warm starts of Optimize. They may be results. Unreadable ones are skipped.
	WarmStarts []string
	// Known are the SMILES of molecules whose scores the objective has at no cost. Optimize does not count them as
	// evaluations, and does not call OnScored for them. The best become parents, and they may be results.
	Known []string
	// KeepSeeds lets seeds be results.
	KeepSeeds bool
	// OnScored is called once for each molecule with a score that passes the filter, in the order of evaluation; nil
	// for no calls.
	OnScored func(*Molecule)
	// OnProgress is called at the end of each iteration or round; nil for no calls. Its error ends the search.
	OnProgress func(Progress) error
	// FinalContext is for scoring the molecules that Around had drawn when its own context ended; nil to drop them.
	FinalContext context.Context
}

// Progress is the progress of a search.
type Progress struct {
	Iteration   int         // from 1
	Evaluations int         // texts evaluated so far; distinct ones in Optimize
	Best        *Molecule   // nil while no molecule meets the constraints
	Found       []*Molecule // results so far; valid until OnProgress returns
}

// report calls OnProgress without the core that the search holds.
func (s *Search) report(ctx context.Context, iteration, evaluations int, found []*Molecule) error {
	if s.OnProgress == nil {
		return nil
	}
	progress := Progress{Iteration: iteration, Evaluations: evaluations, Found: found}
	if len(found) > 0 {
		progress.Best = found[0]
	}
	_, err := cores.Yield(ctx, func() (struct{}, error) { return struct{}{}, s.OnProgress(progress) })
	return err
}
