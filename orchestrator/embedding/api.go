package embedding

import "retort/orchestrator/gateway/bind"

// Request is the body of POST /v1/embeddings.
type Request struct {
	// Input is one text or several, also as the tokens of OpenAI's clients.
	Input Input `json:"input" bind:"required"`
	// Model is a public id, which may end in -query or -passage.
	Model string `json:"model" bind:"required"`
	// InputType is "query" or "passage"; required by models with two modes, unless the model's name ends in the mode,
	// and refused by the others; unless the service is lenient.
	InputType *string `json:"input_type" oneof:"query passage"`
	// Dimensions asks for shorter vectors, of models that have them.
	Dimensions *int `json:"dimensions"`
	// Truncate says what becomes of texts longer than the model takes: NONE refuses them, START and END cut there.
	Truncate string `json:"truncate" oneof:"NONE START END"`
	// EncodingFormat is "float", or "base64" for little-endian float32 bytes.
	EncodingFormat string `json:"encoding_format" oneof:"float base64"`
	// User is accepted and ignored.
	User *string `json:"user"`

	lenient bool // see SetLenient
}

// SetLenient is called for a client of OpenAI's, which knows nothing of modes: an input_type that the model does not
// have is without effect, and one that it needs is the model's default mode.
func (r *Request) SetLenient() { r.lenient = true }

// SetDefaults is called before the body is decoded.
func (r *Request) SetDefaults() {
	r.Truncate = "NONE"
	r.EncodingFormat = "float"
}

// Response is the answer of POST /v1/embeddings.
type Response struct {
	Object string  `json:"object"` // "list"
	Data   []Datum `json:"data"`
	Model  string  `json:"model"`
	Usage  Usage   `json:"usage"`
}

// Datum is the vector of one input: []float32, or a string of base64.
type Datum struct {
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"`
	Object    string `json:"object"` // "embedding"
}

// Usage counts the tokens the model saw, special tokens included.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// Models is the answer of GET /v1/models.
type Models struct {
	Object string   `json:"object"` // "list"
	Data   []Listed `json:"data"`
}

// Listed is one entry of the model list.
type Listed struct {
	ID      string `json:"id"`
	Created int64  `json:"created"` // Unix time in seconds
	Object  string `json:"object"`  // "model"
	OwnedBy string `json:"owned_by"`
}

// Health is the answer of the health endpoints.
type Health struct {
	Object  string `json:"object"`
	Message string `json:"message"`
}

// Error is the answer to a request that the model cannot serve. Detail locates the input where one is to blame.
type Error struct {
	Error  string       `json:"error"`
	Detail *bind.Detail `json:"detail,omitempty"`
}

// ValidationError is the answer to a body that does not fit the API. Detail is the first problem; Errors has all of
// them when there are several.
type ValidationError struct {
	Object  string        `json:"object"`  // "error"
	Message string        `json:"message"` // always the same
	Detail  bind.Detail   `json:"detail"`
	Type    string        `json:"type"` // "request_validation_error"
	Errors  []bind.Detail `json:"errors,omitempty"`
}
