package search

import (
	"context"
	"math"
	"slices"

	"retort/chem"
)

// Objective gives molecules a score. It is safe for concurrent use.
type Objective interface {
	// Facts returns the facts that Score needs of each molecule. A search computes them for a batch beforehand, which
	// is faster than one molecule at a time.
	Facts() chem.Facts
	// Score returns one score per molecule, in order. A molecule with a score of NaN or infinity has none: it is no
	// result and no parent. An error ends the search. With an error, Score returns no scores, or the scores so far and
	// NaN for the other molecules.
	Score(ctx context.Context, molecules []*chem.Molecule) ([]float64, error)
	// Unit returns a difference between scores that matters, such as 0.1 for QED. It is positive. A search weighs score
	// against similarity in this unit.
	Unit() float64
}

// Filter bounds properties of the results beside the score. It is safe for concurrent use.
type Filter interface {
	// Facts returns the facts that Excess needs of each molecule, as for Objective.
	Facts() chem.Facts
	// Excess returns how far each molecule is out of bounds, 0 if it passes. A search passes each molecule once. An
	// error ends the search.
	Excess(ctx context.Context, molecules []*chem.Molecule) ([]float64, error)
}

// Goal is a high score, or a low one, under the constraints of a least similarity to the seed and of a filter.
type Goal struct {
	Objective     Objective
	Minimize      bool
	MinSimilarity float64 // 0 for no constraint
	Filter        Filter  // nil for no constraint
}

// facts returns the facts that scoring and filtering need.
func (g *Goal) facts() chem.Facts {
	facts := g.Objective.Facts()
	if g.Filter != nil {
		facts |= g.Filter.Facts()
	}
	return facts
}

// better reports whether score a is better than score b.
func (g *Goal) better(a, b float64) bool {
	if g.Minimize {
		return a < b
	}
	return a > b
}

// isSimilarEnough reports whether a molecule meets the constraint on similarity.
func (g *Goal) isSimilarEnough(m *Molecule) bool { return m.Similarity >= g.MinSimilarity }

// accepts reports whether a molecule meets all constraints.
func (g *Goal) accepts(m *Molecule) bool { return m.Excess == 0 && g.isSimilarEnough(m) }

// dissimilarityPenalty is the penalty for no similarity at all, in units of the objective.
const dissimilarityPenalty = 10

// leastFilterPenalty and mostFilterPenalty bound the penalty for a molecule that fails the filter, in units of the
// objective: such a molecule is no result but may be a parent, so that a search can start out of bounds.
const (
	leastFilterPenalty = 1
	mostFilterPenalty  = 10
)

// filterPenalty rises from leastFilterPenalty to mostFilterPenalty with the distance out of bounds.
func filterPenalty(excess float64) float64 {
	switch {
	case excess == 0:
		return 0
	case math.IsInf(excess, 1):
		return mostFilterPenalty
	}
	return leastFilterPenalty + (mostFilterPenalty-leastFilterPenalty)*excess/(1+excess)
}

// merit is the score in units of the objective, higher being better, less the penalty of the filter.
func (g *Goal) merit(m *Molecule) float64 {
	merit := m.Score / g.Objective.Unit()
	if g.Minimize {
		merit = -merit
	}
	return merit - filterPenalty(m.Excess)
}

// fitness is what the search maximises: the merit, less a penalty in proportion to the similarity that is missing.
// MolMIM maximises QED / 0.9 plus similarity / least similarity, each clipped at 1. This is the same trade without the
// clipping of the score, so that the best molecules go on to improve.
func (g *Goal) fitness(m *Molecule) float64 {
	fitness := g.merit(m)
	if !g.isSimilarEnough(m) {
		fitness -= dissimilarityPenalty * (g.MinSimilarity - m.Similarity) / g.MinSimilarity
	}
	return fitness
}

// hallOfFame holds the best distinct molecules that meet the goal's constraints, best first.
type hallOfFame struct {
	goal *Goal
	size int // molecules at most
	best []*Molecule
}

// add adds a molecule unless it is there already, or is worse than all others and there is no room.
func (h *hallOfFame) add(m *Molecule) {
	place := len(h.best)
	for i := len(h.best) - 1; i >= 0; i-- {
		if h.best[i].SMILES == m.SMILES {
			return
		}
		if h.goal.better(m.Score, h.best[i].Score) {
			place = i
		}
	}
	if place == h.size {
		return
	}
	if len(h.best) == h.size {
		h.best = h.best[:h.size-1]
	}
	h.best = slices.Insert(h.best, place, m)
}
