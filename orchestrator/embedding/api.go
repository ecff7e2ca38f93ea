package embedding

import (
	"retort/orchestrator/calibration"
	"retort/orchestrator/gateway/bind"
	"retort/orchestrator/wire"
)

// Request is the body of POST /v1/embeddings.
type Request struct {
	// Input is one text or several, as text or as tokens.
	Input Input `json:"input" bind:"required"`
	// Model is a public id, optionally followed by -query or -passage.
	Model string `json:"model" bind:"required"`
	// InputType is the mode. Unless the request is lenient, models with two modes require it if Model does not end in
	// the mode, and other models refuse it.
	InputType *string `json:"input_type" oneof:"query passage"`
	// Dimensions is the length of the vectors. Models without shorter vectors refuse it.
	Dimensions *int `json:"dimensions"`
	// Truncate applies to texts that are too long for the model: NONE refuses them, START and END cut that end. CHUNK,
	// an extension, reads them whole, in chunks.
	Truncate string `json:"truncate" oneof:"NONE START END CHUNK"`
	// EncodingFormat is "float" for a list of numbers, or "base64" for their little-endian bytes.
	EncodingFormat string `json:"encoding_format" oneof:"float base64"`
	// EmbeddingType is the type of the numbers: see quantize.go.
	EmbeddingType string `json:"embedding_type" oneof:"float int8 uint8 binary ubinary"`
	// Modality is the kind of all inputs, or of each: "text".
	Modality wire.Strings `json:"modality"`
	// User is accepted and ignored.
	User *string `json:"user"`

	lenient bool // set by SetLenient
}

// SetLenient makes the request lenient, for clients that do not know modes.
func (r *Request) SetLenient() { r.lenient = true }

// SetDefaults sets the documented defaults, before the body is decoded.
func (r *Request) SetDefaults() {
	r.Truncate = "NONE"
	r.EncodingFormat = "float"
	r.EmbeddingType = "float"
}

// Response is the answer of POST /v1/embeddings.
type Response struct {
	Object string  `json:"object"` // "list"
	Data   []Datum `json:"data"`
	Model  string  `json:"model"`
	Usage  Usage   `json:"usage"`
}

// Datum is the vector of one input. Embedding is a []float32, an []int16 or a base64 string.
type Datum struct {
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"`
	Object    string `json:"object"` // "embedding"
}

// Usage counts the tokens that the model read, special tokens included.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
	// TruncatedTokens were cut off texts that are too long.
	TruncatedTokens int `json:"truncated_tokens,omitzero"`
	// Chunks is the number of chunks of texts that are too long.
	Chunks int `json:"chunks,omitzero"`
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

// Retrieved is the answer of GET /v1/models/{id}.
type Retrieved struct {
	Listed
	// UnrelatedSimilarity are About.Unrelated, by percentage: "99" is the cosine that one in a hundred pairs exceeds.
	UnrelatedSimilarity calibration.Percentiles `json:"unrelated_similarity,omitempty"`
}

// Health is the answer of the health endpoints.
type Health struct {
	Object  string `json:"object"`
	Message string `json:"message"`
}

// Error is the answer to a request that fails after validation. Detail locates the input at fault, if there is one.
type Error struct {
	Error  string       `json:"error"`
	Detail *bind.Detail `json:"detail,omitempty"`
}

// ValidationError is the answer to an invalid body. Detail is the first problem; Errors has all problems if there are
// several.
type ValidationError struct {
	Object  string        `json:"object"`  // "error"
	Message string        `json:"message"` // always the same
	Detail  bind.Detail   `json:"detail"`
	Type    string        `json:"type"` // "request_validation_error"
	Errors  []bind.Detail `json:"errors,omitempty"`
}
