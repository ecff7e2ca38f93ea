package latent

import (
	"cmp"
	stdjson "encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/chem/synthesis"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/bind"
	"retort/orchestrator/objective"
	"retort/orchestrator/unfinished"
	"retort/orchestrator/wire"
)

// Sequences is the body of POST /embedding and POST /hidden.
type Sequences struct {
	Sequences []string `json:"sequences" bind:"required"` // SMILES
	// SkipInvalid answers null for an unreadable sequence instead of refusing all. Beyond the published API.
	SkipInvalid bool `json:"skip_invalid"`
	// Model is the public id of a model; "" for the default one. Beyond the published API.
	Model string `json:"model"`
}

// Embeddings is the answer of POST /embedding: one vector per sequence.
type Embeddings struct {
	Embeddings []Row[float32] `json:"embeddings"`
}

// Row is a list that is null in JSON if the molecule was skipped.
type Row[T any] []T

// MarshalJSONTo writes null for nil.
func (r Row[T]) MarshalJSONTo(to *jsontext.Encoder) error {
	if r == nil {
		return to.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(to, []T(r))
}

// Hidden is the answer of POST /hidden and the body of POST /decode.
type Hidden struct {
	Hiddens []Row[[]float32] `json:"hiddens" bind:"required,sparse"` // [N][K][D]
	Mask    []Row[bool]      `json:"mask" bind:"required,sparse"`    // [N][K]
	// Model is the public id of the model that encodes and decodes, if the request of /hidden names one, so that its
	// answer remains a body of /decode. Beyond the published API.
	Model string `json:"model,omitempty"`
}

// Decoded is the answer of POST /decode: one SMILES per hidden state, null for a null row.
type Decoded struct {
	Generated []*string `json:"generated"`
}

// Sampling is the body of POST /sampling.
type Sampling struct {
	Sequences    []string `json:"sequences" bind:"required"` // SMILES of the seeds
	BeamSize     int      `json:"beam_size"`
	NumMolecules int      `json:"num_molecules"`
	ScaledRadius float64  `json:"scaled_radius"` // see package comment
	// SkipInvalid answers null for an unreadable seed instead of refusing all. Beyond the published API.
	SkipInvalid bool `json:"skip_invalid"`
	// Seed is the seed of the random numbers and makes the answer repeatable. Beyond the published API.
	Seed *int64 `json:"seed"`
	// Model is the public id of a model; "" for the default one. Beyond the published API.
	Model string `json:"model"`
}

// SetDefaults is called before the body is decoded.
func (r *Sampling) SetDefaults() {
	r.BeamSize = 1
	r.NumMolecules = 1
	r.ScaledRadius = 0.7
}

// Sampled is the answer of POST /sampling: one list per seed, in order.
type Sampled struct {
	Generated []Row[string] `json:"generated"`
}

// Generate is the body of POST /generate.
type Generate struct {
	// Smi is the seed. Beyond the published API, it is a list, and the answer is one list per seed; or, with CMA-ES, an
	// empty list or null, and the search starts from molecules that it samples from the model.
	Smi           Seeds          `json:"smi" bind:"required,nullable"`
	Algorithm     string         `json:"algorithm"` // "CMA-ES" or "none"
	NumMolecules  int            `json:"num_molecules"`
	PropertyName  objective.Spec `json:"property_name"`
	Minimize      bool           `json:"minimize"`
	MinSimilarity float64        `json:"min_similarity"` // Tanimoto, Morgan radius 2, 2048 bits
	Particles     int            `json:"particles"`      // evaluations per iteration; with "none", see search.Search
	Iterations    int            `json:"iterations"`
	ScaledRadius  float64        `json:"scaled_radius"`

	// Beyond the published API.

	// Objective replaces PropertyName. The masked API has the same member.
	Objective *objective.Spec `json:"objective"`
	// Filters are bounds on terms that every returned molecule is within.
	Filters objective.Filters `json:"filters"`
	// Scores are the terms whose values each returned molecule shows. The answer holds objects.
	Scores objective.Wanted `json:"scores"`
	// Shared starts one search from all seeds. The answer is one list, as for one seed.
	Shared bool `json:"shared"`
	// Evaluated adds all scored molecules that pass the filters to the answer.
	Evaluated bool `json:"evaluated"`
	// Pareto adds the Pareto front of the objective's terms to the answer.
	Pareto bool `json:"pareto"`
	// Starts are the warm starts of each search as SMILES, such as the results of an earlier search: one list, or one
	// per seed with a list of seeds. They may be results. Unreadable ones are skipped.
	Starts [][]string `json:"starts"`
	// Known are molecules that were evaluated before, with their scores of this objective (of its term told, if it has
	// one). Each search starts from the best of them, does not evaluate them again, and they may be results.
	Known []objective.Known `json:"known"`
	// Checkpoints adds the results so far to each event of a stream. Another search can start from them: see Starts.
	Checkpoints bool `json:"checkpoints"`
	// SkipInvalid answers null for an unreadable seed of a list instead of refusing all. A shared search skips the
	// seed.
	SkipInvalid bool `json:"skip_invalid"`
	// Seed is the seed of the random numbers and makes the answer repeatable.
	Seed *int64 `json:"seed"`
	// Model is the public id of a model; "" for the default one. Beyond the published API.
	Model string `json:"model"`
	// Generated is the form of the answer: "strings", or "objects" with smiles and score. The default is the query
	// parameter of this name, else the header X-Retort-Generated, else the setting.
	Generated string `json:"generated" oneof:"strings objects"`
	// Manifest adds a manifest to the answer: see package provenance.
	Manifest bool `json:"manifest"`
	// IncludeScores answers with objects that have a similarity too.
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

// FromAddress sets Generated, if the body does not, from the query parameter of this name or from a header: a client's
// address and headers are easier to configure than its bodies. Unknown values of the header are ignored.
func (r *Generate) FromAddress(header func(name string) string, query func(name string) []string) []*fault.Error {
	values := query("generated")
	if len(values) > 1 {
		return []*fault.Error{fault.Field("value_error", strings.Join(values, ","), []any{"generated"},
			"The query has generated more than once")}
	}
	for _, value := range values {
		if f := fault.OneOf(value, forms, "generated"); f != nil {
			return []*fault.Error{f}
		}
		r.Generated = cmp.Or(r.Generated, value)
	}
	if form := header("X-Retort-Generated"); r.Generated == "" && slices.Contains(forms, form) {
		r.Generated = form
	}
	return nil
}

// forms are the values of Generate.Generated.
var forms = []string{"strings", "objects"}

// objects reports whether the answer holds objects. defaultForm is the setting.
func (r *Generate) objects(defaultForm string) bool {
	return r.IncludeScores || len(r.Scores) > 0 || cmp.Or(r.Generated, defaultForm) == "objects"
}

// The algorithms of POST /generate.
const (
	guided   = "CMA-ES"
	unguided = "none"
)

// Seeds is one SMILES or a list of them.
type Seeds struct {
	Smiles []string
	List   bool // whether the request has a list; the answer is then a list per seed
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

// path returns the path of seed i in the body.
func (s *Seeds) path(i int) []any {
	if s.List {
		return []any{"smi", i}
	}
	return []any{"smi"}
}

// Generated is the answer of POST /generate.
type Generated struct {
	// Generated is []string or []*Molecule, best first; for a list of seeds, a list of these.
	Generated any `json:"generated"`
	// Evaluated are all scored molecules, search by search, in the order of evaluation, if the request asks for them.
	Evaluated []*Molecule `json:"evaluated,omitempty"`
	// Pareto is the front of all scored molecules that may be results, if the request asks for it.
	Pareto []objective.Tradeoff `json:"pareto,omitempty"`
	// LeftOut counts the evaluated molecules that fail a filter; nil without filters.
	LeftOut *objective.LeftOut `json:"left_out,omitempty"`
	// Unfinished says what cut the work short; nil if nothing did.
	Unfinished *Unfinished `json:"unfinished,omitempty"`
}

var _ unfinished.Answer = Generated{}

// ExplainUnfinished implements unfinished.Answer.
func (g Generated) ExplainUnfinished() *unfinished.Explanation {
	if g.Unfinished == nil {
		return nil
	}
	return &g.Unfinished.Explanation
}

// Unfinished says why an answer is incomplete.
type Unfinished struct {
	unfinished.Explanation
	// Seeds are the rows of smi whose searches were cut short, for a list of seeds that is not shared.
	Seeds []int `json:"seeds,omitempty"`
}

// Molecule is one molecule with its scores.
type Molecule struct {
	Smiles string `json:"smiles"`
	// Score is the value of the objective.
	Score float64 `json:"score"`
	// Similarity is the similarity to the seed, from 0 to 1, with include_scores.
	Similarity *float64 `json:"similarity,omitempty"`
	// Scores are the values of the terms in Generate.Scores, and Alerts names the alerts among them.
	Scores objective.Values `json:"scores,omitempty"`
	Alerts []string         `json:"alerts,omitempty"`
	// Route is the shortest synthesis that is found, if its number of steps is among the scores.
	Route *synthesis.Route `json:"route,omitempty"`
}

// Progress is an event of a stream: one per iteration and seed. The last event of a stream is the answer, a Generated.
type Progress struct {
	Seed        int       `json:"seed"`        // index in smi
	Iteration   int       `json:"iteration"`   // from 1
	Evaluations int       `json:"evaluations"` // distinct texts evaluated so far
	Best        *Molecule `json:"best"`        // null while no molecule meets the constraint
	// Found are the results so far, best first, with checkpoints.
	Found []*Molecule `json:"found,omitempty"`
}

// Models is the answer of GET /v1/models.
type Models struct {
	Object string       `json:"object"` // "list"
	Data   []ModelEntry `json:"data"`
}

// ModelEntry is one entry of the model list.
type ModelEntry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`  // "model"
	Created int64  `json:"created"` // Unix time in seconds
	OwnedBy string `json:"owned_by"`
}

// Health is the answer of the health endpoints.
type Health struct {
	Status string `json:"status"` // "ready" or "live"
}

// Invalid is the answer to an invalid body, with status 422.
type Invalid struct {
	Detail []bind.Detail `json:"detail"`
}

// Failure is the answer to any other request that fails.
type Failure struct {
	Detail string `json:"detail"`
}
