package latent

import (
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
)

// Where a field of a request is checked:
//
//   - JSON type and presence: bind.JSON, from the types in api.go; package objective for objective and property_name
//   - largest length of a list, a setting (config.go): bind.JSON, from routes.go
//   - documented bounds: here
//   - SMILES: seeds.go
//   - size of hidden states: checkSize
//   - terms of an objective: objective.go

// The documented bounds.
const (
	maxBeamSize      = 10
	maxSamples       = 10 // num_molecules of /sampling
	maxMolecules     = 100
	minParticles     = 2
	maxParticles     = 1000
	maxIterations    = 1000
	maxMinSimilarity = 0.7
	maxScaledRadius  = 2
)

// maxEvaluated is the largest number of evaluated molecules in an answer: some 10 MB.
const maxEvaluated = 100_000

// Validate checks the documented bounds of POST /embedding and POST /hidden.
func (r *Sequences) Validate() error {
	var problems fault.Problems
	checkTexts(&problems, r.Sequences, sequencePath)
	return problems.Err()
}

// Validate checks that hiddens and mask agree.
func (r *Hidden) Validate() error {
	var problems fault.Problems
	problems.Add(fault.NotEmpty(len(r.Hiddens), "hiddens"))
	if len(r.Mask) != len(r.Hiddens) {
		problems.Add(fault.Field("value_error", len(r.Mask), []any{"mask"},
			"Value error, mask should have one row for each of the %d hiddens, not %d", len(r.Hiddens), len(r.Mask)))
		return problems.Err()
	}
	for i := 0; i < len(r.Mask) && !problems.Full(); i++ {
		if (r.Hiddens[i] == nil) != (r.Mask[i] == nil) {
			problems.Add(fault.Field("value_error", nil, []any{"mask", i},
				"Value error, a row of mask should be null if and only if that row of hiddens is null"))
		} else if r.Mask[i] != nil {
			checkMask(&problems, r.Mask[i], len(r.Hiddens[i]), i)
		}
	}
	return problems.Err()
}

// checkMask checks row i of a mask: one value per vector of the hidden state, all true. A false value would leave
// nothing to decode.
func checkMask(problems *fault.Problems, mask []bool, vectors, i int) {
	if len(mask) != vectors {
		problems.Add(fault.Field("value_error", len(mask), []any{"mask", i},
			"Value error, mask should have as many values as the hidden state has vectors (%d), not %d",
			vectors, len(mask)))
		return
	}
	problems.AddEach(len(mask), func(k int) *fault.Error {
		if mask[k] {
			return nil
		}
		return fault.Field("value_error", false, []any{"mask", i, k},
			"Value error, mask should be true: without its hidden state a molecule cannot be decoded")
	})
}

// checkSize checks that hidden states are nil or have the shape that the model takes: [N][vectors][size].
func checkSize(hiddens []Row[[]float32], vectors, size int) error {
	var problems fault.Problems
	problems.AddEach(len(hiddens), func(i int) *fault.Error {
		if hiddens[i] == nil {
			return nil
		}
		if f := fault.Items(len(hiddens[i]), vectors, vectors, "hiddens", i); f != nil {
			return f
		}
		for k, vector := range hiddens[i] {
			if f := fault.Items(len(vector), size, size, "hiddens", i, k); f != nil {
				return f
			}
		}
		return nil
	})
	return problems.Err()
}

// Validate checks the documented bounds.
func (r *Sampling) Validate() error {
	var problems fault.Problems
	checkTexts(&problems, r.Sequences, sequencePath)
	problems.Add(
		fault.Between(r.BeamSize, 1, maxBeamSize, "beam_size"),
		fault.Between(r.NumMolecules, 1, maxSamples, "num_molecules"),
		fault.Between(r.ScaledRadius, 0, maxScaledRadius, "scaled_radius"),
	)
	return problems.Err()
}

// Validate checks the documented bounds. Fields of the other algorithm are checked too, though they have no effect.
func (r *Generate) Validate() error {
	var problems fault.Problems
	if r.Generated != "" { // from the query: package bind has checked that of the body
		problems.Add(fault.OneOf(r.Generated, forms, "generated"))
	}
	problems.AddEach(len(r.Smi.Smiles), func(i int) *fault.Error {
		return fault.Text(r.Smi.Smiles[i], r.Smi.path(i)...)
	})
	if r.Algorithm == unguided && (len(r.Smi.Smiles) == 0 || r.Shared) {
		problems.Add(fault.Field("value_error", nil, []any{"smi"},
			"Value error, algorithm none needs a molecule to draw around, and cannot share seeds"))
	}
	for _, list := range []struct {
		member string
		wanted bool
	}{{"evaluated", r.Evaluated}, {"pareto", r.Pareto}} {
		if list.wanted && r.maxEvaluations() > maxEvaluated {
			problems.Add(fault.Field("value_error", true, []any{list.member},
				"Value error, the request may evaluate %d molecules, and at most %d can be listed",
				r.maxEvaluations(), maxEvaluated))
		}
	}
	r.checkStarts(&problems)
	problems.Add(objective.CheckKnown(r.Known))
	if r.Algorithm == unguided && len(r.Known) > 0 {
		problems.Add(fault.Field("value_error", nil, []any{"known"},
			"Value error, algorithm none starts from its seed only"))
	}
	problems.Add(
		fault.OneOf(r.Algorithm, []string{guided, unguided}, "algorithm"),
		fault.Between(r.NumMolecules, 1, maxMolecules, "num_molecules"),
		fault.Between(r.Particles, minParticles, maxParticles, "particles"),
		fault.Between(r.Iterations, 1, maxIterations, "iterations"),
		fault.Between(r.MinSimilarity, 0, maxMinSimilarity, "min_similarity"),
		fault.Between(r.ScaledRadius, 0, maxScaledRadius, "scaled_radius"),
	)
	return problems.Err()
}

// maxEvaluations returns an upper bound of the molecules that a request scores.
func (r *Generate) maxEvaluations() int {
	if r.Algorithm == unguided {
		return r.searches() * max(r.Particles, r.NumMolecules) * unguidedRounds
	}
	// Seeds, warm starts and evaluations after the last iteration are extra: see search.Optimize.
	warmStarts := 0
	for _, list := range r.Starts {
		warmStarts += len(list)
	}
	return r.searches()*(r.Particles*r.Iterations+2*r.NumMolecules) + len(r.Smi.Smiles) + warmStarts
}

// unguidedRounds is an upper bound of the rounds of an unguided search.
const unguidedRounds = 8

// skips reports whether unreadable seeds are skipped, given the number of readable ones. A shared search without a
// readable seed would start from none, which the client did not request.
func (r *Generate) skips(readable int) bool {
	return r.SkipInvalid && r.Smi.List && !(r.Shared && readable == 0)
}

// searches returns the number of searches of a request.
func (r *Generate) searches() int {
	if r.Shared || !r.Smi.List {
		return 1
	}
	return max(1, len(r.Smi.Smiles))
}

// checkStarts checks that there are no starts, or one list for each search.
func (r *Generate) checkStarts(problems *fault.Problems) {
	if len(r.Starts) == 0 {
		return
	}
	if len(r.Starts) != r.searches() {
		problems.Add(fault.Field("value_error", len(r.Starts), []any{"starts"},
			"Value error, starts should have one list for each search, %d, not %d", r.searches(), len(r.Starts)))
	}
	if r.Algorithm == unguided {
		problems.Add(fault.Field("value_error", nil, []any{"starts"},
			"Value error, algorithm none starts from its seed only"))
	}
	problems.AddEach(len(r.Starts), func(i int) *fault.Error {
		return fault.Items(len(r.Starts[i]), 0, maxMolecules, "starts", i)
	})
}

// checkTexts checks that there are texts and that none is empty. path returns the path of text i in the body.
func checkTexts(problems *fault.Problems, texts []string, path func(i int) []any) {
	problems.Add(fault.NotEmpty(len(texts), path(0)[0]))
	problems.AddEach(len(texts), func(i int) *fault.Error { return fault.Text(texts[i], path(i)...) })
}

// The gateway reserves permits and places in the queue for light requests, so that they do not wait behind heavy ones.
// These are the largest light requests, in rows to encode and points to decode. They take about 0.1 s on a CPU.
const (
	maxLightRows   = 256
	maxLightPoints = 64
)

// Heavy reports whether there are many molecules to encode.
func (r *Sequences) Heavy() bool { return len(r.Sequences) > maxLightRows }

// textsPerPoint is the largest number of texts decoded for a point of /decode: the first, and the attempts to rescue
// it. A point on the line between two molecules costs three rows of the models and, once per line, 0.2 s of a core
// (decision 0020).
const textsPerPoint = 1 + fewBeams + manyBeams + rescueDraws

// Heavy reports whether there are many points to decode.
func (r *Hidden) Heavy() bool {
	points := 0
	for _, vectors := range r.Hiddens {
		if vectors != nil {
			points++
		}
	}
	return points*textsPerPoint > maxLightPoints
}

// Heavy reports whether there are many points to decode.
func (r *Sampling) Heavy() bool {
	return len(r.Sequences)*r.NumMolecules*r.BeamSize > maxLightPoints
}

// Heavy reports whether there are many points to decode. The defaults, 300 evaluations, are heavy.
func (r *Generate) Heavy() bool {
	points := max(r.Particles, r.NumMolecules)
	if r.Algorithm == guided {
		points = r.Particles * r.Iterations
	}
	return max(1, len(r.Smi.Smiles))*points > maxLightPoints
}
