package masked

import (
	"context"
	"math"
	"sync"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/telemetry"
)

// scorer scores molecules by an objective, each molecule once. Higher scores rank first.
type scorer struct {
	*objective.Objective
	exact bool // the answer has scores that are not rounded

	mu     sync.Mutex
	scores map[string]float64 // by canonical SMILES; NaN without a score

	evaluated []string // SMILES of all molecules with a score, in the order of drawing, with repeats
}

// scorer opens the objective of a request, and checks its oracles before anything is computed.
func (s *Service) scorer(ctx context.Context, r Request) (*scorer, error) {
	spec := objective.One(r.Scoring)
	if r.Objective != nil {
		spec = *r.Objective
	}
	opened, err := spec.Open(s.oracles.All())
	if err == nil {
		err = s.oracles.Check(ctx, opened, r.maxEvaluations())
	}
	if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
		return nil, f.Under("objective")
	}
	return &scorer{Objective: opened, exact: r.Objective != nil, scores: map[string]float64{}}, err
}

// score returns a score for each molecule, NaN for those without one or not scored before an error.
func (s *scorer) score(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	var unscored []*chem.Molecule
	seen := map[string]bool{}
	s.mu.Lock()
	for _, m := range molecules {
		if _, ok := s.scores[m.SMILES()]; !ok && !seen[m.SMILES()] {
			seen[m.SMILES()] = true
			unscored = append(unscored, m)
		}
	}
	s.mu.Unlock()
	scores, err := s.Score(ctx, unscored)
	telemetry.FromContext(ctx).AddEvaluations(len(unscored))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, score := range scores {
		if err != nil && math.IsNaN(score) {
			continue // the oracle failed before this molecule
		}
		s.scores[unscored[i].SMILES()] = score
	}
	all := make([]float64, len(molecules))
	for i, m := range molecules {
		score, ok := s.scores[m.SMILES()]
		if !ok {
			score = math.NaN()
		}
		all[i] = score
	}
	return all, err
}

// note adds molecules with a score to those evaluated. The parts of a stream are scored in any order, but noted in the
// order of drawing.
func (s *scorer) note(scored []*candidate) {
	for _, c := range scored {
		s.evaluated = append(s.evaluated, c.molecule.SMILES())
	}
}

// evaluatedMolecules returns all molecules that have a score, in the order of drawing.
func (s *scorer) evaluatedMolecules() []Molecule {
	var all []Molecule
	seen := map[string]bool{}
	for _, smiles := range s.evaluated {
		if !seen[smiles] {
			seen[smiles] = true
			all = append(all, Molecule{SMILES: smiles, Score: s.displayed(s.scores[smiles])})
		}
	}
	return all
}

// displayed returns a score for the answer: exact for an objective of the request, else rounded.
func (s *scorer) displayed(score float64) float64 {
	if s.exact {
		return score
	}
	return rounded(score)
}
