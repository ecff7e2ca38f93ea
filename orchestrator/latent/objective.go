package latent

import (
	"context"

	"retort/chem"
	"retort/chem/cores"
	"retort/chem/synthesis"
	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/objective"
	"retort/orchestrator/telemetry"
)

// target is the objective of a request and the goal of its searches.
type target struct {
	goal      search.Goal
	objective *objective.Objective
	member    string            // its name in the request, for errors: "objective" or "property_name"
	filter    *objective.Filter // nil without filters
	values    *objective.Valuer // nil without scores
	known     *objective.KnownScores
	front     *objective.Front // nil without pareto
}

// useKnown makes the objective know scores.
func (t *target) useKnown(known *objective.KnownScores) {
	t.known = known
	t.objective.UseKnown(known)
}

// openTarget opens the objective, the filters and the scores of a request. Their terms are built in or among the given
// oracles. seen is the sample of the model's training molecules, or nil. The error is Invalid.
func openTarget(r Generate, oracles []objective.Oracle, seen *chem.Sample, routes *synthesis.Search) (target, error) {
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
	if t.objective, err = spec.Open(yielding, seen, routes); err != nil {
		return t, fault.As(err).Under(t.member)
	}
	t.goal.Objective = countedObjective{t.objective}
	if r.Pareto {
		if t.front, err = t.objective.KeepFront(); err != nil {
			return t, err
		}
	}
	if t.filter, err = r.Filters.Open(yielding, seen, routes); err != nil {
		return t, fault.As(err).Under("filters")
	}
	if t.filter != nil {
		t.goal.Filter = t.filter
	}
	if t.values, err = r.Scores.Open(seen, routes); err != nil {
		return t, fault.As(err).Under("scores")
	}
	return t, nil
}

// hasOracle reports whether an oracle scores or filters the molecules.
func (t *target) hasOracle() bool {
	return t.objective.HasOracle() || t.filter != nil && t.filter.HasOracle()
}

// checkOracles checks what a request asks of the oracles of its objective and of its filters.
func (t *target) checkOracles(check func(*objective.Objective) error) error {
	member := t.member
	err := check(t.objective)
	if err == nil && t.filter != nil {
		member = "filters"
		err = check(t.filter.Objective)
	}
	if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
		return f.Under(member)
	}
	return err
}

// addValues adds the wanted scores to molecules of the answer.
func (t *target) addValues(ctx context.Context, molecules []*Molecule) error {
	if t.values == nil {
		return nil
	}
	smiles := make([]string, len(molecules))
	for i, m := range molecules {
		smiles[i] = m.Smiles
	}
	results, err := chem.Evaluate(ctx, smiles, t.values.Facts())
	if err != nil {
		return err
	}
	read := make([]*chem.Molecule, len(results))
	for i, r := range results {
		if r.Err != nil {
			return r.Err // it was read before
		}
		read[i] = r.Molecule
	}
	values, err := t.values.Values(ctx, read)
	if err != nil {
		return err
	}
	for i, m := range molecules {
		m.Scores = values[i]
		m.Alerts = t.values.Alerts(read[i])
		m.Route = t.values.Route(read[i])
	}
	return nil
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
