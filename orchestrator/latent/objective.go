package latent

import (
	"context"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/objective"
)

// goalOf is what a request asks for. Its terms are looked up among those that are built in and the oracles that Triton
// serves now. The error is Invalid.
func goalOf(r Generate, oracles []objective.Oracle) (search.Goal, *objective.Objective, error) {
	goal := search.Goal{Minimize: r.Minimize}
	if r.Algorithm == guided && len(r.Smi.Smiles) > 0 {
		goal.MinSimilarity = r.MinSimilarity
	}
	waiting := make([]objective.Oracle, len(oracles))
	for i, o := range oracles {
		waiting[i] = remote{o}
	}
	spec := &r.PropertyName
	member := "property_name"
	if r.Objective != nil {
		spec = r.Objective
		member = "objective"
	}
	opened, err := spec.Open(waiting)
	if err != nil {
		return goal, nil, fault.As(err).Under(member)
	}
	goal.Objective = opened
	return goal, opened, nil
}

// remote is an oracle that is waited for without the processor that a search holds.
type remote struct{ objective.Oracle }

func (r remote) Score(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	return search.Wait(ctx, func() ([][]float64, error) { return r.Oracle.Score(ctx, molecules) })
}

// probe checks what an objective asks of oracles before anything is computed: that they answer, and that the request may
// have so many molecules scored.
func (s *Service) probe(ctx context.Context, r Generate, o *objective.Objective) error {
	member := "property_name"
	if r.Objective != nil {
		member = "objective"
	}
	err := s.oracles.Check(ctx, o, r.points())
	if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
		return f.Under(member)
	}
	return err
}

// points are the most molecules that a request has scored.
func (r *Generate) points() int {
	searches := len(r.Smi.Smiles)
	if r.Shared || searches == 0 {
		searches = 1
	}
	if r.Algorithm == unguided {
		return searches * max(r.Particles, r.NumMolecules) * unguidedRounds
	}
	// The seeds, and what may be evaluated after the last iteration, come on top: see search.Optimize.
	begun := 0
	for _, starts := range r.Starts {
		begun += len(starts)
	}
	return searches*(r.Particles*r.Iterations+2*r.NumMolecules) + len(r.Smi.Smiles) + begun
}

// unguidedRounds is how often an unguided search draws at most.
const unguidedRounds = 8
