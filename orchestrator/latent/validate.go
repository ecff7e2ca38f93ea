package latent

import "retort/orchestrator/fault"

// Validate checks the documented bounds of POST /embedding and POST /hidden.
func (r *Sequences) Validate() error { return fault.Join(seeds(r.Sequences, "sequences")...) }

// Validate checks the documented bounds.
func (r *Sampling) Validate() error {
	return fault.Join(append(seeds(r.Sequences, "sequences"),
		fault.Between(r.BeamSize, 1, 10, "beam_size"),
		fault.Between(r.NumMolecules, 1, 10, "num_molecules"),
		fault.Between(r.ScaledRadius, 0, 2, "scaled_radius"),
	)...)
}

// Validate checks the documented bounds. Members of the other algorithm are
// checked too, though they have no effect.
func (r *Generate) Validate() error {
	return fault.Join(append(seeds(r.Smi, "smi"),
		fault.OneOf(r.Algorithm, []string{"CMA-ES", "none"}, "algorithm"),
		fault.Between(r.NumMolecules, 1, 100, "num_molecules"),
		fault.Between(r.Particles, 2, 1000, "particles"),
		fault.Between(r.Iterations, 1, 1000, "iterations"),
		fault.Between(r.MinSimilarity, 0, 0.7, "min_similarity"),
		fault.Between(r.ScaledRadius, 0, 2, "scaled_radius"),
	)...)
}

func seeds(smiles []string, field string) []*fault.Error {
	problems := []*fault.Error{fault.Items(len(smiles), 1, len(smiles)+1, field)}
	for i, s := range smiles {
		problems = append(problems, fault.Text(s, field, i))
	}
	return problems
}
