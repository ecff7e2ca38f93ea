package masked

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/telemetry"
)

// scorer scores molecules by an objective, each molecule once. Higher scores rank first.
type scorer struct {
	*objective.Objective
	filter *objective.Filter // nil without filters
	values *objective.Valuer // nil without a list of scores
	front  *objective.Front  // nil without pareto
	exact  bool              // the answer has scores that are not rounded

	mu     sync.Mutex
	passes map[string]bool    // whether a molecule passes the filter, by canonical SMILES
	scores map[string]float64 // by canonical SMILES; NaN without a score
	failed []*chem.Molecule   // those without a score, if the client of a job may tell one later

	evaluated []string // SMILES of all molecules with a score, in the order of drawing, with repeats
}

// scorer opens the objective, the filters and the scores of a request, and checks their oracles before anything is
// computed. seen is the sample of the model's training molecules, or nil.
func (s *Service) scorer(
	ctx context.Context, r Request, seen *chem.Sample, known *objective.KnownScores,
) (*scorer, error) {
	spec := objective.One(r.Scoring)
	if r.Objective != nil {
		spec = *r.Objective
	}
	oracles := s.oracles.For(ctx)
	routes := s.planner.NewSearch()
	var opened scorer
	open := func() (member string, err error) {
		member = "objective"
		if opened.Objective, err = spec.Open(oracles, seen, routes); err == nil {
			opened.Objective.UseKnown(known)
			if r.Pareto {
				if opened.front, err = opened.Objective.KeepFront(); err != nil {
					return "", err
				}
			}
			err = s.oracles.Check(ctx, opened.Objective, r.maxEvaluations())
		}
		if err != nil {
			return member, err
		}
		member = "filters"
		if opened.filter, err = r.Filters.Open(oracles, seen, routes); err == nil && opened.filter != nil {
			err = s.oracles.Check(ctx, opened.filter.Objective, r.maxEvaluations())
		}
		if err != nil {
			return member, err
		}
		opened.values, err = r.Scores.Terms.Open(seen, routes)
		return "scores", err
	}
	member, err := open()
	if f := fault.As(err); f != nil && f.Kind == fault.Invalid && member != "" {
		return nil, f.Under(member)
	}
	if err != nil {
		return nil, err
	}
	opened.exact = r.Objective != nil
	opened.passes = map[string]bool{}
	opened.scores = map[string]float64{}
	return &opened, nil
}

// filtered returns the candidates that pass the filter. It filters each molecule once. After an error, it filters the
// same molecules again the next time.
func (s *scorer) filtered(ctx context.Context, candidates []*candidate) ([]*candidate, error) {
	if s.filter == nil {
		return candidates, nil
	}
	s.mu.Lock() // over the filtering too, so that no other part of a stream counts a molecule again
	defer s.mu.Unlock()
	var unknown []*chem.Molecule
	listed := map[string]bool{}
	for _, c := range candidates {
		smiles := c.molecule.SMILES()
		if _, ok := s.passes[smiles]; !ok && !listed[smiles] {
			listed[smiles] = true
			unknown = append(unknown, c.molecule)
		}
	}
	excess, err := s.filter.Excess(ctx, unknown)
	if err != nil {
		return nil, err
	}
	for i, m := range unknown {
		s.passes[m.SMILES()] = excess[i] == 0
	}
	return slices.DeleteFunc(candidates, func(c *candidate) bool { return !s.passes[c.molecule.SMILES()] }), nil
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
		if math.IsNaN(score) && s.IsTold() {
			s.failed = append(s.failed, unscored[i])
		}
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

// scoreLate returns the molecules that have received a score after a failure, in the order of their SMILES. latest are
// the molecules of the last pass. They are scored along because a late score counts from a certain batch on (package
// jobs/optimization), so that each attempt at a job sees it at the same point.
func (s *scorer) scoreLate(ctx context.Context, latest []*candidate) ([]*candidate, error) {
	if len(s.failed) == 0 {
		return nil, nil
	}
	slices.SortFunc(s.failed, func(a, b *chem.Molecule) int { return cmp.Compare(a.SMILES(), b.SMILES()) })
	scores, err := s.Score(ctx, slices.Concat(s.failed, moleculesOf(latest)))
	if err != nil {
		return nil, err
	}
	var late []*candidate
	var failed []*chem.Molecule
	for i, m := range s.failed {
		if math.IsNaN(scores[i]) {
			failed = append(failed, m)
			continue
		}
		s.scores[m.SMILES()] = scores[i]
		late = append(late, &candidate{molecule: m, score: scores[i], asWritten: true})
	}
	s.failed = failed
	s.note(late)
	return late, nil
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

// pareto returns the Pareto front of all molecules that have a score.
func (s *scorer) pareto() []objective.Tradeoff {
	if s.front == nil {
		return nil
	}
	all := make([]objective.Tradeoff, len(s.evaluated))
	for i, smiles := range s.evaluated {
		all[i] = objective.Tradeoff{SMILES: smiles, Score: s.scores[smiles]}
	}
	return s.front.Of(all, false)
}

// displayed returns a score for the answer: exact for an objective of the request, else rounded.
func (s *scorer) displayed(score float64) float64 {
	if s.exact {
		return score
	}
	return rounded(score)
}
