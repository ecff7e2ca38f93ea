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
	return []*fault.Error{
		fault.Between(int64(r.NumMolecules), 1, maxMolecules, "num_molecules"),
		fault.Between(float64(r.Temperature), 0.01, 10, "temperature"),
		fault.Between(float64(r.Noise), 0, 2, "noise"),
		fault.Between(int64(r.StepSize), 1, 10, "step_size"),
		fault.Between(float64(r.Gamma), 0, 1, "gamma"),
		fault.Between(int64(r.MinAddLen), 1, 128, "min_add_len"),
		fault.Between(int64(r.Rounds), 0, maxRounds, "rounds"),
		fault.Between(int64(r.Attempts), 1, maxAttempts, "attempts"),
	}
}
