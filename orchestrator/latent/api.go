package latent

import (
	"cmp"
	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/gateway/bind"
	"retort/orchestrator/objective"
	"retort/orchestrator/unfinished"
	"retort/orchestrator/wire"
)

// Sequences is the body of POST /embedding and POST /hidden.
type Sequences struct {
	Sequences []string `json:"sequences" bind:"required"` // SMILES
	// SkipInvalid answers a sequence that cannot be read with null, in place of refusing all. Beyond the published API.
	SkipInvalid bool `json:"skip_invalid"`
}

// Embeddings is the answer of POST /embedding: one vector per sequence, null for one that was skipped.
type Embeddings struct {
	Embeddings []Row[float32] `json:"embeddings"`
}

// Row is a list that is null in JSON, not empty, if the molecule was skipped.
type Row[T any] []T

// MarshalJSONTo writes null for nil.
func (r Row[T]) MarshalJSONTo(to *jsontext.Encoder) error {
	if r == nil {
		return to.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(to, []T(r))
}

// Hidden is the answer of POST /hidden and the body of POST /decode. A row that is null stands for a molecule that was
// skipped.
type Hidden struct {
	Hiddens []Row[[]float32] `json:"hiddens" bind:"required,sparse"` // [N][K][D]
	Mask    []Row[bool]      `json:"mask" bind:"required,sparse"`    // [N][K]
}

// Decoded is the answer of POST /decode: one SMILES per hidden state, null for null.
type Decoded struct {
	Generated []*string `json:"generated"`
}

// Sampling is the body of POST /sampling.
type Sampling struct {
	Sequences    []string `json:"sequences" bind:"required"` // SMILES of the seeds
	BeamSize     int      `json:"beam_size"`
	NumMolecules int      `json:"num_molecules"`
	ScaledRadius float64  `json:"scaled_radius"` // of the noise, in units of the radius of the model
	// SkipInvalid answers a seed that cannot be read with null, in place of refusing all. Beyond the published API.
	SkipInvalid bool `json:"skip_invalid"`
	// Seed makes the answer repeatable. Beyond the published API.
	Seed *int64 `json:"seed"`
}

// SetDefaults is called before the body is decoded.
func (r *Sampling) SetDefaults() {
	r.BeamSize = 1
	r.NumMolecules = 1
	r.ScaledRadius = 0.7
}

// Sampled is the answer of POST /sampling: one list per seed, in order; null for one that was skipped.
type Sampled struct {
	Generated []Row[string] `json:"generated"`
}

// Generate is the body of POST /generate.
type Generate struct {
	// Smi is the seed. A list is beyond the published API; the answer is then one list per seed. So are an empty list and
	// null, with CMA-ES: the search then starts from molecules that the model itself draws.
	Smi           Seeds          `json:"smi" bind:"required,nullable"`
	Algorithm     string         `json:"algorithm"` // "CMA-ES" or "none"
	NumMolecules  int            `json:"num_molecules"`
	PropertyName  objective.Spec `json:"property_name"`
	Minimize      bool           `json:"minimize"`
	MinSimilarity float64        `json:"min_similarity"` // Tanimoto, Morgan radius 2, 2048 bits
	Particles     int            `json:"particles"`      // evaluations an iteration; with "none" the fewest points of a round
	Iterations    int            `json:"iterations"`
	ScaledRadius  float64        `json:"scaled_radius"`

	// Beyond the published API.

	// Objective takes the place of PropertyName: the same member as of the masked API.
	Objective *objective.Spec `json:"objective"`
	// Shared makes the seeds one population of one search. The answer is one list, as for one seed.
	Shared bool `json:"shared"`
	// Evaluated adds all molecules that were scored to the answer.
	Evaluated bool `json:"evaluated"`
	// Starts are SMILES that each search begins with beside its seeds, such as what an earlier search found: one list, or
	// with a list of seeds one for each. They may be results. What cannot be read is left out.
	Starts [][]string `json:"starts"`
	// Checkpoints adds to each event of a stream what has been found so far, to go on from with Starts.
	Checkpoints bool `json:"checkpoints"`
	// SkipInvalid answers a seed of a list that cannot be read with null, in place of refusing all; a shared search does
	// without it.
	SkipInvalid bool `json:"skip_invalid"`
	// Seed makes the answer repeatable.
	Seed *int64 `json:"seed"`
	// Generated is what the answer holds: "strings" or "objects" with smiles and score. By default the header
	// X-Retort-Generated says so, or else the setting.
	Generated string `json:"generated" oneof:"strings objects"`
	// IncludeScores answers with objects in place of strings.
	IncludeScores bool `json:"include_scores"`
	// Stream answers with server-sent events.
	Stream bool `json:"stream"`
}

// SetDefaults is called before the body is decoded.
func (r *Generate) SetDefaults() {
	r.Algorithm = guided
	r.PropertyName = objective.One("QED")
	r.NumMolecules = 10
	r.Particles = 30
	r.Iterations = 10
	r.MinSimilarity = 0.7
	r.ScaledRadius = 1
}

// FromHeaders takes what the header says of the answer where the body says nothing: clients that read objects can be
// given a header more easily than another body. Any other value says nothing.
func (r *Generate) FromHeaders(get func(name string) string) {
	if said := get("X-Retort-Generated"); r.Generated == "" && (said == "strings" || said == "objects") {
		r.Generated = said
	}
}

// objects says whether the answer holds objects; by default is the setting.
func (r *Generate) objects(byDefault string) bool {
	return r.IncludeScores || cmp.Or(r.Generated, byDefault) == "objects"
}

// The algorithms of POST /generate.
const (
	guided   = "CMA-ES"
	unguided = "none"
)

// Seeds is one SMILES or a list of them.
type Seeds struct {
	Smiles []string
	List   bool // it came as a list, so the answer is a list per seed
}

// UnmarshalJSON decodes a string or an array of strings.
func (s *Seeds) UnmarshalJSON(data []byte) error {
	var texts wire.Strings
	if err := texts.UnmarshalJSON(data); err != nil {
		return err
	}
	s.Smiles = texts
	s.List = stdjson.Unmarshal(data, new(string)) != nil
	return nil
}

// path is where seed i stands in the body.
func (s *Seeds) path(i int) []any {
	if s.List {
		return []any{"smi", i}
	}
	return []any{"smi"}
}

// Generated is the answer of POST /generate, best first: []string, or []Molecule with include_scores; for a list of
// seeds, a list of these.
type Generated struct {
	Generated any `json:"generated"`
	// Evaluated are all molecules that have a score, in the order in which they were found: with evaluated. For a list of
	// seeds they are those of all searches.
	Evaluated []*Molecule `json:"evaluated,omitempty"`
	// Unfinished says what ended the work before it was done; nil where nothing did.
	Unfinished *Unfinished `json:"unfinished,omitempty"`
}

// UnfinishedMark implements unfinished.Answer.
func (g Generated) UnfinishedMark() *unfinished.Mark {
	if g.Unfinished == nil {
		return nil
	}
	return &g.Unfinished.Mark
}

// Unfinished says why an answer is not all that was asked for.
type Unfinished struct {
	unfinished.Mark
	// Seeds are the places in smi whose searches have not come to their end: with a list of seeds that is not shared.
	Seeds []int `json:"seeds,omitempty"`
}

// Molecule is one molecule with its scores.
type Molecule struct {
	Smiles string `json:"smiles"`
	// Score is the property asked for.
	Score float64 `json:"score"`
	// Similarity is that to the seed, from 0 to 1: with include_scores.
	Similarity *float64 `json:"similarity,omitempty"`
}

// Progress is an event of a stream: one per iteration and seed. The last event of a stream is the answer, a Generated.
type Progress struct {
	Seed        int       `json:"seed"`        // index in smi
	Iteration   int       `json:"iteration"`   // from 1
	Evaluations int       `json:"evaluations"` // distinct texts evaluated so far
	Best        *Molecule `json:"best"`        // null while none meets the constraint
	// Found is what the answer would be now, best first: with checkpoints.
	Found []*Molecule `json:"found,omitempty"`
}

// Models is the answer of GET /v1/models.
type Models struct {
	Object string   `json:"object"` // "list"
	Data   []Listed `json:"data"`
}

// Listed is one entry of the model list.
type Listed struct {
	ID      string `json:"id"`
	Object  string `json:"object"`  // "model"
	Created int64  `json:"created"` // Unix time in seconds
	OwnedBy string `json:"owned_by"`
}

// Health is the answer of the health endpoints.
type Health struct {
	Status string `json:"status"` // "ready" or "live"
}

// Invalid is the answer to a body that does not fit the API, with status 422.
type Invalid struct {
	Detail []bind.Detail `json:"detail"`
}

// Failure is the answer to any other request that fails.
type Failure struct {
	Detail string `json:"detail"`
}
