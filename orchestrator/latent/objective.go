package latent

import (
	"context"

	"retort/chem"
	"retort/chem/cores"
	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/objective"
	"retort/orchestrator/telemetry"
)

// target is the objective of a request and the goal of its searches.
type target struct {
	goal      search.Goal
	objective *objective.Objective
	member    string // its name in the request, for errors: "objective" or "property_name"
}

// openTarget opens the objective of a request. Its terms are built in or among the given oracles. The error is Invalid.
func openTarget(r Generate, oracles []objective.Oracle) (target, error) {
	spec := &r.PropertyName
	t := target{goal: search.Goal{Minimize: r.Minimize}, member: "property_name"}
	if r.Objective != nil {
		spec = r.Objective
		t.member = "objective"
	}
	if r.Algorithm == guided && len(r.Smi.Smiles) > 0 {
		t.goal.MinSimilarity = r.MinSimilarity
	}
	yielding := make([]objective.Oracle, len(oracles))
	for i, o := range oracles {
		yielding[i] = yieldingOracle{o}
	}
	var err error
	if t.objective, err = spec.Open(yielding); err != nil {
		return t, fault.As(err).Under(t.member)
	}
	t.goal.Objective = countedObjective{t.objective}
	return t, nil
}

// countedObjective counts the evaluations of a request.
type countedObjective struct{ *objective.Objective }

func (o countedObjective) Score(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	telemetry.FromContext(ctx).AddEvaluations(len(molecules))
	return o.Objective.Score(ctx, molecules)
}

// yieldingOracle is an oracle whose calls are waited for without the core that a search holds: see [cores.Yield].
type yieldingOracle struct{ objective.Oracle }

func (o yieldingOracle) Score(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	return cores.Yield(ctx, func() ([][]float64, error) { return o.Oracle.Score(ctx, molecules) })
}
