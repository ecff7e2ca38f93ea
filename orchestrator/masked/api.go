package masked

import (
	"bytes"
	"encoding/json"

	"retort/chem/synthesis"
	"retort/orchestrator/objective"
	"retort/orchestrator/unfinished"
	"retort/orchestrator/wire"
)

// Request is the body of POST /generate. Numbers and booleans may be strings. Unknown members are ignored, since
// clients and gateways send some.
type Request struct {
	_ struct{} `bind:"open"`

	// Smiles is the template: SAFE or SMILES, with or without masks and open positions. Nil means no given fragments.
	Smiles       *Template  `json:"smiles"`
	NumMolecules wire.Int   `json:"num_molecules"` // upper bound of the molecules returned
	Temperature  wire.Float `json:"temperature"`   // divides the logits; of models trained here, the root of 0.3 times it does
	Noise        wire.Float `json:"noise"`         // scale of the noise added to the confidence of tokens
	StepSize     wire.Int   `json:"step_size"`     // tokens unmasked in one step
	Scoring      string     `json:"scoring" oneof:"QED LogP"`
	Unique       wire.Bool  `json:"unique"`

	// Members of version 2.0.

	// Gamma is the fraction of given tokens that molecular context guidance hides in its second pass; 0 for no
	// guidance.
	Gamma wire.Float `json:"gamma"`
	// MinAddLen is the least length, in API tokens, of the mask that is added to a template without masks.
	MinAddLen wire.Int `json:"min_add_len"`
	// Filter is accepted and ignored: molecules without the given fragments are always dropped.
	Filter wire.Bool `json:"filter"`

	// Beyond the published API.

	// Objective replaces Scoring; the latent API has the same member.
	Objective *objective.Spec `json:"objective"`
	// Filters are bounds on terms that every molecule is within. Others are neither returned nor used further.
	Filters objective.Filters `json:"filters"`
	// Smi are warm starts: molecules that the rounds start from, instead of a first generation.
	Smi wire.Strings `json:"smi"`
	// Known are molecules that were evaluated before, with their scores of this objective (of its term told, if it has
	// one). They are not evaluated again. Without warm starts, the rounds start from the best of them.
	Known []objective.Known `json:"known"`
	// Checkpoints adds to a stream, at the end of each round, an event with the best molecules so far, from which
	// another request can continue (Smi).
	Checkpoints wire.Bool `json:"checkpoints"`
	// Evaluated adds all scored molecules, which have passed the filters, to the answer.
	Evaluated wire.Bool `json:"evaluated"`
	// Pareto adds the Pareto front of the objective's terms to the answer.
	Pareto wire.Bool `json:"pareto"`
	// Model is the public id of a model. Any other value selects the default model.
	Model any `json:"model"`
	// Seed makes the answer reproducible; random if nil.
	Seed *wire.Int `json:"seed"`
	// Quality conditions the model on high quality, a QED of at least 0.6 and an SA of at most 4, if its training data
	// was labelled so. Without it, molecules are distributed as in all of the training data.
	Quality wire.Bool `json:"quality"`
	// Scores adds properties to each molecule: all of Scores, or the values of a list of terms.
	Scores WantedScores `json:"scores"`
	// Rounds is the number of remasking rounds after the first generation.
	Rounds wire.Int `json:"rounds"`
	// Attempts bounds the passes of the first generation: one for all molecules, then one each for missing molecules.
	Attempts wire.Int `json:"attempts"`
	// Manifest adds a manifest to the answer: see package provenance.
	Manifest wire.Bool `json:"manifest"`
	// Stream answers with server-sent events.
	Stream wire.Bool `json:"stream"`

	complete bool // draw until there are NumMolecules, as version 2.0 does: see complete.go
}

// SetDefaults sets the documented defaults, before the body is decoded.
func (r *Request) SetDefaults() {
	r.NumMolecules = 30
	r.Temperature = 1
	r.StepSize = 1
	r.Scoring = "QED"
	r.MinAddLen = 24
	r.Attempts = 5
	r.Quality = true
}

// requestV2 is a Request with the defaults of GenMol 2.0: see Config.GenMol.
type requestV2 struct{ Request }

// SetDefaults sets the documented defaults, before the body is decoded.
func (r *requestV2) SetDefaults() {
	r.Request.SetDefaults()
	r.Noise = 1
	r.complete = true
}

// request returns the Request that means the same in version 1.0: step_size is ignored.
func (r requestV2) request() Request {
	r.StepSize = 1
	return r.Request
}

// Response is the answer of POST /generate, best molecule first.
type Response struct {
	Status    string     `json:"status"` // "success"
	Molecules []Molecule `json:"molecules"`
	Drawn     int        `json:"drawn,omitzero"` // rows sent to the model; only with Request.Scores
	// Evaluated are all distinct molecules that have a score, in the order of scoring; only with Request.Evaluated.
	Evaluated []Molecule `json:"evaluated,omitempty"`
	// Pareto is the front of all molecules that have a score; only with Request.Pareto.
	Pareto []objective.Tradeoff `json:"pareto,omitempty"`
	// LeftOut counts the molecules that fail a filter; nil without filters.
	LeftOut *objective.LeftOut `json:"left_out,omitempty"`
	// Unfinished says why the generation ended early; nil if it completed.
	Unfinished *unfinished.Explanation `json:"unfinished,omitempty"`
}

var _ unfinished.Answer = Response{}

// ExplainUnfinished implements unfinished.Answer.
func (r Response) ExplainUnfinished() *unfinished.Explanation { return r.Unfinished }

// Molecule is a molecule with the score it is ranked by.
type Molecule struct {
	SMILES string    `json:"smiles"`
	Score  float64   `json:"score"`
	Scores *Scores   `json:"scores,omitempty"`
	Alerts *[]string `json:"alerts,omitempty"` // names of the alerts that Scores counts
	// Route is the shortest synthesis that is found, if its number of steps is among the Scores.
	Route *synthesis.Route `json:"route,omitempty"`
}

// WantedScores says which scores each molecule shows besides the one that it is ranked by.
type WantedScores struct {
	All   bool             // those of Scores
	Terms objective.Wanted // these terms instead
}

// UnmarshalJSON decodes a boolean, which may be a string, or a list of terms.
func (w *WantedScores) UnmarshalJSON(data []byte) error {
	*w = WantedScores{}
	if data := bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' {
		return w.Terms.UnmarshalJSON(data)
	}
	return (*wire.Bool)(&w.All).UnmarshalJSON(data)
}

// any reports whether molecules show scores.
func (w *WantedScores) any() bool { return w.All || len(w.Terms) > 0 }

// Scores are the properties of a molecule, or the values of a list of terms in their place.
type Scores struct {
	QED       float64 `json:"QED"`                // 0 to 1
	LogP      float64 `json:"LogP"`               // Crippen
	SA        float64 `json:"SA"`                 // synthetic accessibility, 1 (easy) to 10
	TPSA      float64 `json:"TPSA"`               // square ångström
	Weight    float64 `json:"molecular_weight"`   // g/mol
	AsWritten bool    `json:"decoded_as_written"` // the model's SAFE text needed no repair

	terms *objective.Values // nil for the properties
}

// MarshalJSON encodes the properties or the values of the terms.
func (s Scores) MarshalJSON() ([]byte, error) {
	if s.terms != nil {
		return s.terms.MarshalJSON()
	}
	type properties Scores
	return json.Marshal(properties(s))
}

// Progress is an event of a stream. The last event is a Response instead.
type Progress struct {
	Status    string   `json:"status"` // "running"
	Round     int      `json:"round"`  // 0 is the first generation
	Rounds    int      `json:"rounds"`
	Generated int      `json:"generated"` // rows unmasked so far in this round
	Requested int      `json:"requested"` // rows to unmask in this round
	Valid     int      `json:"valid"`     // molecules found so far, in all rounds
	Best      *float64 `json:"best"`      // highest score so far; null before the first
	// Found is the answer as of the end of this round, best first; only with Request.Checkpoints.
	Found []Molecule `json:"found,omitempty"`
}

// Models is the answer of GET /v1/models.
type Models struct {
	AvailableModels []string `json:"available_models"`
}

// Health is the answer of the health endpoints.
type Health struct {
	Status string `json:"status"` // "ready" or "live"
}

// Failure is the answer to any request that fails.
type Failure struct {
	Status string `json:"status"` // "failed"
	Error  string `json:"error"`  // all problems, each with the name of its member
}
