package masked

import (
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/wire"
)

// Bounds of requests. That of num_molecules is published; the others bound the work and the answer of one request.
const (
	maxMolecules  = 1000
	maxRounds     = 50
	maxAttempts   = 10
	maxWarmStarts = 1000
	maxEvaluated  = 100_000
)

// Bounds of a light request: the documented default of num_molecules, and 1.5 times the API tokens of a typical
// molecule.
const (
	maxLightMolecules = 30
	maxLightMasks     = 75
)

// Heavy reports whether a request may occupy the model for long: gateway.Heavy.
func (r *Request) Heavy() bool {
	masks := 0
	if r.Smiles != nil {
		masks = r.Smiles.maxMaskTokens()
	}
	return r.NumMolecules > maxLightMolecules || r.Rounds > 0 || masks > maxLightMasks
}

// Bounds checks the members one by one: gateway.Bounded.
func (r *Request) Bounds() []*fault.Error {
	return append(r.checkSearch(), []*fault.Error{
		fault.Between(int64(r.NumMolecules), 1, maxMolecules, "num_molecules"),
		fault.Between(float64(r.Temperature), 0.01, 10, "temperature"),
		fault.Between(float64(r.Noise), 0, 2, "noise"),
		fault.Between(int64(r.StepSize), 1, 10, "step_size"),
		fault.Between(float64(r.Gamma), 0, 1, "gamma"),
		fault.Between(int64(r.MinAddLen), 1, 128, "min_add_len"),
		fault.Between(int64(r.Rounds), 0, maxRounds, "rounds"),
		fault.Between(int64(r.Attempts), 1, maxAttempts, "attempts"),
	}...)
}

// checkSearch checks the members of a search, some of which depend on others.
func (r *Request) checkSearch() (problems []*fault.Error) {
	if len(r.Smi) > 0 && r.Rounds == 0 {
		problems = append(problems,
			fault.Field("value_error", nil, []any{"smi"}, "molecules to start from need rounds, at least 1"))
	}
	for _, list := range []struct {
		member string
		wanted wire.Bool
	}{{"evaluated", r.Evaluated}, {"pareto", r.Pareto}} {
		if count := r.maxEvaluations(); bool(list.wanted) && count > maxEvaluated {
			problems = append(problems, fault.Field("value_error", nil, []any{list.member},
				"the request may evaluate %d molecules, and at most %d can be listed", count, maxEvaluated))
		}
	}
	return append(problems, fault.Items(len(r.Smi), 0, maxWarmStarts, "smi"), objective.CheckKnown(r.Known))
}

// maxEvaluations is an upper bound on the molecules that a request scores.
func (r *Request) maxEvaluations() int {
	first := int(r.NumMolecules * r.Attempts)
	if r.complete {
		first += maxMissingPasses * max(int(r.NumMolecules), minMissingRows)
	}
	return max(first, len(r.Smi)) + int(r.NumMolecules*r.Rounds)
}
