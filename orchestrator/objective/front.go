package objective

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"retort/orchestrator/fault"
)

// Front collects the molecules that an objective scores, and selects the Pareto front of its terms. It is safe for
// concurrent use.
type Front struct {
	mu     sync.Mutex
	points map[string]point // by canonical SMILES
}

// point has the terms of a molecule, in the order of the objective.
type point struct {
	values       []float64
	desirability []float64 // after the modifier, with the sign of the weight: higher is better
}

// Tradeoff is a molecule of a Pareto front: every other molecule is worse in a term, or equal in all.
type Tradeoff struct {
	SMILES string    `json:"smiles"`
	Score  float64   `json:"score"`  // of the objective
	Values []float64 `json:"values"` // of the terms, in their order, before modifiers and weights
}

// KeepFront makes Score collect molecules for the returned front. The error is Invalid if the objective has one term.
func (o *Objective) KeepFront() (*Front, error) {
	if len(o.root.members) < 2 {
		return nil, fault.Field("value_error", true, []any{"pareto"},
			"Value error, a Pareto front needs an objective of at least two terms")
	}
	o.front = &Front{points: map[string]point{}}
	return o.front, nil
}

// add adds a molecule that has a score.
func (f *Front) add(g *group, r *row) {
	var p point
	for i := range g.members {
		m := &g.members[i]
		p.values = append(p.values, m.value(r))
		p.desirability = append(p.desirability, math.Copysign(1, m.weight)*m.modifiedValue(r))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.points[r.molecule.SMILES()] = p
}

// Of returns the front of scored molecules, the best score first. It leaves out molecules whose terms were not computed
// because their score was known. With minimize, lower scores are better.
func (f *Front) Of(molecules []Tradeoff, minimize bool) []Tradeoff {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	sign := 1.0
	if minimize {
		sign = -1
	}
	var candidates []Tradeoff
	listed := map[string]bool{}
	for _, m := range molecules {
		if p, ok := f.points[m.SMILES]; ok && !listed[m.SMILES] {
			listed[m.SMILES] = true
			m.Values = p.values
			candidates = append(candidates, m)
		}
	}
	// A molecule is dominated only by one that comes before it.
	slices.SortStableFunc(candidates, func(a, b Tradeoff) int {
		x := f.points[a.SMILES].desirability
		y := f.points[b.SMILES].desirability
		return int(sign) * slices.Compare(y, x)
	})
	front := []Tradeoff{}
	for _, c := range candidates {
		dominates := func(other Tradeoff) bool {
			return dominates(f.points[other.SMILES].desirability, f.points[c.SMILES].desirability, sign)
		}
		if !slices.ContainsFunc(front, dominates) {
			front = append(front, c)
		}
	}
	slices.SortStableFunc(front, func(a, b Tradeoff) int { return cmp.Compare(sign*b.Score, sign*a.Score) })
	return front
}

// dominates reports whether a is nowhere worse than b and somewhere better. sign is -1 if lower values are better.
func dominates(a, b []float64, sign float64) bool {
	better := false
	for i := range a {
		if sign*a[i] < sign*b[i] {
			return false
		}
		better = better || sign*a[i] > sign*b[i]
	}
	return better
}
