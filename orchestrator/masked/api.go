package masked

import (
	"retort/orchestrator/objective"
	"retort/orchestrator/unfinished"
	"retort/orchestrator/wire"
)

// Request is the body of POST /generate. Numbers and truths may come as text; members that are not listed are
// tolerated, since clients and gateways send some.
type Request struct {
	_ struct{} `bind:"open"`

	// Smiles is the template: SAFE or SMILES with masks, open positions, or neither. None means molecules without given
	// fragments.
	Smiles       *Template  `json:"smiles"`
	NumMolecules wire.Int   `json:"num_molecules"` // drawn; fewer may be returned
	Temperature  wire.Float `json:"temperature"`   // divides the logits
	Noise        wire.Float `json:"noise"`         // added to the confidence of tokens
	StepSize     wire.Int   `json:"step_size"`     // tokens unmasked in one step
	Scoring      string     `json:"scoring" oneof:"QED LogP"`
	Unique       wire.Bool  `json:"unique"`

	// Members of the later version.

	// Gamma is the share of given tokens hidden for the guiding pass.
	Gamma wire.Float `json:"gamma"`
	// MinAddLen is the least number of masks added to a template without any.
	MinAddLen wire.Int `json:"min_add_len"`
	// Filter changes nothing: given fragments always stay.
	Filter wire.Bool `json:"filter"`

	// Beyond the published API.

	// Objective takes the place of Scoring: the same member as of the latent API.
	Objective *objective.Spec `json:"objective"`
	// Smi are molecules that the rounds start from, in place of a first generation.
	Smi wire.Strings `json:"smi"`
	// Checkpoints adds to a stream an event at the end of each round with what has been found, to go on from with Smi.
	Checkpoints wire.Bool `json:"checkpoints"`
	// Evaluated adds all molecules that were scored to the answer.
	Evaluated wire.Bool `json:"evaluated"`
	// Model is a public id; anything else means the default model.
	Model any `json:"model"`
	// Seed makes the answer repeatable.
	Seed *wire.Int `json:"seed"`
	// Quality asks for molecules with a QED of at least 0.6 and an SA of at most 4, of a model that was told of its
	// training molecules which are; without it, molecules are as those of all of the training data.
	Quality wire.Bool `json:"quality"`
	// Scores adds every score to each molecule.
	Scores wire.Bool `json:"scores"`
	// Rounds of fragment remasking that follow the first generation.
	Rounds wire.Int `json:"rounds"`
	// Attempts bounds how often rows are drawn: once for all, then again for those that are missing.
	Attempts wire.Int `json:"attempts"`
	// Stream answers with server-sent events.
	Stream wire.Bool `json:"stream"`
}

// SetDefaults is called before the body is decoded.
func (r *Request) SetDefaults() {
	r.NumMolecules = 30
	r.Temperature = 1
	r.StepSize = 1
	r.Scoring = "QED"
	r.MinAddLen = 24
	r.Attempts = 5
	r.Quality = true
}

// Response is the answer of POST /generate, best molecule first.
type Response struct {
	Status    string     `json:"status"` // "success"
	Molecules []Molecule `json:"molecules"`
	Drawn     int        `json:"drawn,omitzero"` // rows whose masks the model filled; only with Request.Scores
	// Evaluated are all molecules that have a score, each once, in the order in which they were scored: with Request.Evaluated.
	Evaluated []Molecule `json:"evaluated,omitempty"`
	// Unfinished says what ended the work before it was done; nil where nothing did.
	Unfinished *unfinished.Mark `json:"unfinished,omitempty"`
}

// Cut makes an answer an unfinished.Answer.
func (r Response) Cut() *unfinished.Mark { return r.Unfinished }

// Molecule is one molecule with the score it is ranked by.
type Molecule struct {
	SMILES string  `json:"smiles"`
	Score  float64 `json:"score"`
	Scores *Scores `json:"scores,omitempty"`
}

// Scores are the properties of a molecule that the API knows.
type Scores struct {
	QED       float64 `json:"QED"`                // 0 to 1
	LogP      float64 `json:"LogP"`               // Crippen
	SA        float64 `json:"SA"`                 // synthetic accessibility, 1 (easy) to 10
	TPSA      float64 `json:"TPSA"`               // square ångström
	Weight    float64 `json:"molecular_weight"`   // g/mol
	AsWritten bool    `json:"decoded_as_written"` // nothing of the model's text had to be repaired
}

// Progress is an event of a stream before the last one, which is a Response.
type Progress struct {
	Status    string   `json:"status"` // "running"
	Round     int      `json:"round"`  // 0 is the first generation
	Rounds    int      `json:"rounds"`
	Generated int      `json:"generated"` // drawn so far in this round
	Requested int      `json:"requested"` // to draw in this round
	Valid     int      `json:"valid"`     // molecules found so far
	Best      *float64 `json:"best"`      // highest score so far; null before the first
	// Found is what the answer would be at the end of this round, best first: with Checkpoints.
	Found []Molecule `json:"found,omitempty"`
}

// Models is the answer of GET /v1/models.
type Models struct {
	AvailableModels []string `json:"available_models"`
}

// Ready and Live are the answers of the health endpoints.
type (
	Ready struct {
		Status string `json:"status"` // "ready"
	}
	Live struct {
		Status string `json:"status"` // "live"
	}
)

// Failure is the answer to any request that fails.
type Failure struct {
	Status string `json:"status"` // "failed"
	Error  string `json:"error"`  // every problem, each with the member it is in
}
