package latent

import "retort/orchestrator/fault"

// mostProblems bounds how many rows of one body are reported.
const mostProblems = 20

// Validate checks the documented bounds of POST /embedding and POST /hidden.
func (r *Sequences) Validate() error { return fault.Join(texts(r.Sequences, "sequences")...) }

// Validate checks that hiddens and mask agree. The size of a hidden state is
// the model's to check.
func (r *Hidden) Validate() error {
	problems := []*fault.Error{fault.NotEmpty(len(r.Hiddens), "hiddens")}
	if len(r.Mask) != len(r.Hiddens) {
		problems = append(problems, fault.Field("value_error", len(r.Mask), []any{"mask"},
			"Value error, mask should have one row for each of the %d hiddens, not %d", len(r.Hiddens), len(r.Mask)))
		return fault.Join(problems...)
	}
	for i, states := range r.Hiddens {
		if len(problems) > mostProblems {
			break
		}
		problems = append(problems, masked(states, r.Mask[i], i)...)
	}
	return fault.Join(problems...)
}

// masked checks row i: as many truths as states, and none of them false, which
// would leave nothing to decode.
func masked(states [][]float32, mask []bool, i int) (problems []*fault.Error) {
	if len(mask) != len(states) {
		return []*fault.Error{fault.Field("value_error", len(mask), []any{"mask", i},
			"Value error, mask should have %d values as the hidden state has vectors, not %d", len(states), len(mask))}
	}
	for k, present := range mask {
		if !present {
			problems = append(problems, fault.Field("value_error", false, []any{"mask", i, k},
				"Value error, mask should be true: without its hidden state a molecule cannot be decoded"))
		}
	}
	return problems
}

// Validate checks the documented bounds.
func (r *Sampling) Validate() error {
	return fault.Join(append(texts(r.Sequences, "sequences"),
		fault.Between(r.BeamSize, 1, 10, "beam_size"),
		fault.Between(r.NumMolecules, 1, 10, "num_molecules"),
		fault.Between(r.ScaledRadius, 0, 2, "scaled_radius"),
	)...)
}

// Validate checks the documented bounds. Members of the other algorithm are
// checked too, though they have no effect.
func (r *Generate) Validate() error {
	problems := []*fault.Error{fault.NotEmpty(len(r.Smi.Smiles), "smi")}
	for i, s := range r.Smi.Smiles {
		problems = append(problems, fault.Text(s, r.Smi.path(i)...))
	}
	return fault.Join(append(problems,
		fault.OneOf(r.Algorithm, []string{guided, unguided}, "algorithm"),
		fault.Between(r.NumMolecules, 1, 100, "num_molecules"),
		fault.Between(r.Particles, 2, 1000, "particles"),
		fault.Between(r.Iterations, 1, 1000, "iterations"),
		fault.Between(r.MinSimilarity, 0, 0.7, "min_similarity"),
		fault.Between(r.ScaledRadius, 0, 2, "scaled_radius"),
	)...)
}

func texts(smiles []string, field string) []*fault.Error {
	problems := []*fault.Error{fault.NotEmpty(len(smiles), field)}
	for i, s := range smiles {
		problems = append(problems, fault.Text(s, field, i))
	}
	return problems
}
