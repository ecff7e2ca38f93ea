package masked

import "retort/orchestrator/fault"

// The bounds of num_molecules are the published ones; those of rounds and attempts bound the work of one request.
const (
	maxMolecules = 1000
	maxRounds    = 50
	maxAttempts  = 10
)

// maxLightMolecules is the documented default of num_molecules; maxLightMasks is a molecule's worth of published mask
// tokens and a half.
const (
	maxLightMolecules = 30
	maxLightMasks     = 75
)

// Heavy says that a request takes the model for longer than a moment: gateway.Heavy.
func (r *Request) Heavy() bool {
	masks := 0
	if r.Smiles != nil {
		for _, mask := range r.Smiles.Masks {
			masks += mask.Most
		}
	}
	return r.NumMolecules > maxLightMolecules || r.Rounds > 0 || masks > maxLightMasks
}

// Bounds checks the members one by one: gateway.Bounded.
func (r *Request) Bounds() []*fault.Error {
	return append(r.search(), []*fault.Error{
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

// The bounds of what a search takes and lists.
const (
	maxStarts    = 1000
	maxEvaluated = 100_000
)

// search checks the members of a search together.
func (r *Request) search() (problems []*fault.Error) {
	if len(r.Smi) > 0 && r.Rounds == 0 {
		problems = append(problems, fault.Field("value_error", nil, []any{"smi"}, "molecules to start from need rounds, at least 1"))
	}
	if points := r.points(); bool(r.Evaluated) && points > maxEvaluated {
		problems = append(problems, fault.Field("value_error", nil, []any{"evaluated"},
			"the request may evaluate %d molecules, and at most %d can be listed", points, maxEvaluated))
	}
	return append(problems, fault.Items(len(r.Smi), 0, maxStarts, "smi"))
}

// points are the most molecules that a request has scored.
func (r *Request) points() int {
	first := int(r.NumMolecules * r.Attempts)
	return max(first, len(r.Smi)) + int(r.NumMolecules*r.Rounds)
}
