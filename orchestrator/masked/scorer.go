package masked

import (
	"context"
	"math"
	"sync"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
)

// scorer gives molecules the score that they are ranked by: the higher, the better. It has each molecule scored once.
type scorer struct {
	*objective.Objective
	exact bool // scores are shown with all their digits

	mu    sync.Mutex
	known map[string]float64 // by canonical SMILES; NaN for no score
	order []string           // of known, as they were scored
}

// scorer opens the objective of a request, and has its oracles tried before anything is computed.
func (s *Service) scorer(ctx context.Context, r Request) (*scorer, error) {
	spec := objective.One(r.Scoring)
	if r.Objective != nil {
		spec = *r.Objective
	}
	opened, err := spec.Open(s.oracles.All())
	if err == nil {
		err = s.oracles.Check(ctx, opened, r.points())
	}
	if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
		return nil, f.Under("objective")
	}
	return &scorer{Objective: opened, exact: r.Objective != nil, known: map[string]float64{}}, err
}

// score gives one score per molecule, NaN for none. Beside an error come the scores that were there before, NaN for the
// others.
func (s *scorer) score(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	var unknown []*chem.Molecule
	asked := map[string]bool{}
	s.mu.Lock()
	for _, m := range molecules {
		if _, ok := s.known[m.SMILES()]; !ok && !asked[m.SMILES()] {
			asked[m.SMILES()] = true
			unknown = append(unknown, m)
		}
	}
	s.mu.Unlock()
	scores, err := s.Score(ctx, unknown)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, score := range scores {
		if err != nil && math.IsNaN(score) {
			continue // the oracle failed before this molecule
		}
		smiles := unknown[i].SMILES()
		if _, twice := s.known[smiles]; !twice {
			s.order = append(s.order, smiles)
		}
		s.known[smiles] = score
	}
	all := make([]float64, len(molecules))
	for i, m := range molecules {
		score, ok := s.known[m.SMILES()]
		if !ok {
			score = math.NaN()
		}
		all[i] = score
	}
	return all, err
}

// evaluated are all molecules that have a score, in the order in which they were scored.
func (s *scorer) evaluated() []Molecule {
	var all []Molecule
	for _, smiles := range s.order {
		if score := s.known[smiles]; !math.IsNaN(score) {
			all = append(all, Molecule{SMILES: smiles, Score: s.shown(score)})
		}
	}
	return all
}

// shown is a score as the answer has it: with three decimals, as the published service does, or with all for an
// objective of the request's.
func (s *scorer) shown(score float64) float64 {
	if s.exact {
		return score
	}
	return rounded(score)
}
