package search

import (
	"context"

	"retort/chem"
)

// Objective gives molecules a score. It is safe for concurrent use.
type Objective interface {
	// Facts are what Score asks of each molecule. A search computes them for a whole batch beforehand, which is faster
	// than one molecule at a time.
	Facts() chem.Facts
	// Score gives one score per molecule, in order. NaN or an infinite one says that the molecule has none: it is no
	// result and no parent. An error ends the search; beside it come the scores that were there before, NaN for the
	// others, or none at all.
	Score(ctx context.Context, molecules []*chem.Molecule) ([]float64, error)
	// Unit is a difference between scores that is a step worth taking, such as 0.1 for QED. A search weighs score
	// against similarity in this unit. It is positive.
	Unit() float64
}

// Goal is what a search looks for: a high score, or a low one, among the molecules that are similar enough to the seed.
type Goal struct {
	Objective     Objective
	Minimize      bool
	MinSimilarity float64 // least Tanimoto similarity to the seed; 0 for no constraint
}

// better reports whether score a is better than score b.
func (g *Goal) better(a, b float64) bool {
	if g.Minimize {
		return a < b
	}
	return a > b
}

// met reports whether a molecule is similar enough to the seed.
func (g *Goal) met(m *Molecule) bool { return m.Similarity >= g.MinSimilarity }

// lostSimilarity is the penalty for having no similarity at all, in units of the objective.
const lostSimilarity = 10

// fitness is what the search maximises: the score in units of the objective, less a penalty in proportion to the
// similarity that is missing. MolMIM maximises QED / 0.9 plus similarity / least similarity, each clipped at 1. This is
// the same trade without the clipping of the score, so that the best molecules go on to improve.
func (g *Goal) fitness(m *Molecule) float64 {
	fitness := m.Score / g.Objective.Unit()
	if g.Minimize {
		fitness = -fitness
	}
	if !g.met(m) {
		fitness -= lostSimilarity * (g.MinSimilarity - m.Similarity) / g.MinSimilarity
	}
	return fitness
}
