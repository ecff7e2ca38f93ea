package latent

import "retort/orchestrator/wire"

// Sequences is the body of POST /embedding and POST /hidden.
type Sequences struct {
	Sequences []string `json:"sequences" bind:"required"` // SMILES
}

// Embeddings is the answer of POST /embedding: one vector per sequence.
type Embeddings struct {
	Embeddings [][]float32 `json:"embeddings"`
}

// Hidden is the answer of POST /hidden and the body of POST /decode.
type Hidden struct {
	Hiddens [][][]float32 `json:"hiddens" bind:"required"` // [N][K][D]
	Mask    [][]bool      `json:"mask" bind:"required"`    // [N][K]
}

// Decoded is the answer of POST /decode: one SMILES per hidden state.
type Decoded struct {
	Generated []string `json:"generated"`
}

// Sampling is the body of POST /sampling.
type Sampling struct {
	Sequences    []string `json:"sequences" bind:"required"` // SMILES of the seeds
	BeamSize     int      `json:"beam_size"`
	NumMolecules int      `json:"num_molecules"`
	ScaledRadius float64  `json:"scaled_radius"`
	// Seed makes the answer repeatable. Beyond the published API.
	Seed *int64 `json:"seed" bind:"nullable"`
}

// SetDefaults is called before the body is decoded.
func (r *Sampling) SetDefaults() { r.BeamSize, r.NumMolecules, r.ScaledRadius = 1, 1, 0.7 }

// Sampled is the answer of POST /sampling: one list per seed, in order.
type Sampled struct {
	Generated [][]string `json:"generated"`
}

// Generate is the body of POST /generate.
type Generate struct {
	// Smi is the seed. Several at once are beyond the published API; the
	// answer is then one list per seed.
	Smi           wire.Strings `json:"smi" bind:"required"`
	Algorithm     string       `json:"algorithm"` // "CMA-ES" or "none"
	NumMolecules  int          `json:"num_molecules"`
	PropertyName  string       `json:"property_name"`
	Minimize      bool         `json:"minimize"`
	MinSimilarity float64      `json:"min_similarity"` // Tanimoto, Morgan radius 2, 2048 bits
	Particles     int          `json:"particles"`      // population of CMA-ES
	Iterations    int          `json:"iterations"`
	ScaledRadius  float64      `json:"scaled_radius"`

	// Beyond the published API.

	// Seed makes the answer repeatable.
	Seed *int64 `json:"seed" bind:"nullable"`
	// IncludeScores answers with objects in place of strings.
	IncludeScores bool `json:"include_scores"`
	// Stream answers with server-sent events.
	Stream bool `json:"stream"`
}

// SetDefaults is called before the body is decoded.
func (r *Generate) SetDefaults() {
	r.Algorithm, r.PropertyName = "CMA-ES", "QED"
	r.NumMolecules, r.Particles, r.Iterations = 10, 30, 10
	r.MinSimilarity, r.ScaledRadius = 0.7, 1
}
