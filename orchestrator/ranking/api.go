package ranking

// Request is the body of POST /v1/ranking. It has no other members.
type Request struct {
	// Model is a public id. Default: the first model.
	Model *string `json:"model"`
	// Query is the text that passages are ranked by.
	Query Text `json:"query" bind:"required"`
	// Passages are the candidates.
	Passages []Text `json:"passages" bind:"required"`
	// Truncate applies to pairs that are too long for the model: NONE refuses them, END cuts off the end of the
	// passage, CHUNK cuts the passage into chunks and returns the logit of the best one.
	Truncate string `json:"truncate" oneof:"NONE END CHUNK"`
}

// Text is a query or a passage.
type Text struct {
	Text string `json:"text" bind:"required"`
}

// SetDefaults sets the documented defaults, before the body is decoded.
func (r *Request) SetDefaults() { r.Truncate = "NONE" }

// HostedRequest is the body of POST /v1/retrieval/<model>/reranking, the path of the hosted service.
type HostedRequest struct {
	Request
	// TopK is the most passages to return. Default: all.
	TopK *int `json:"top_k"`
}

// Response is the answer of POST /v1/ranking: the passages by descending logit, equal ones by index.
type Response struct {
	Rankings []Rank `json:"rankings"`
	Usage    *Usage `json:"usage,omitempty"` // unless Truncate is NONE, with which all is read
}

// Usage counts the tokens that the model read: of all pairs, special tokens included. With CHUNK, the query counts in
// each chunk.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
	// TruncatedTokens were cut off passages that are too long.
	TruncatedTokens int `json:"truncated_tokens,omitzero"`
	// Chunks is the number of chunks of passages that are too long.
	Chunks int `json:"chunks,omitzero"`
}

// Rank is a passage with its logit.
type Rank struct {
	Index int     `json:"index"` // of the passage in the request
	Logit float32 `json:"logit"` // raw and unbounded
}

// Models is the answer of GET /v1/models.
type Models struct {
	Object string   `json:"object"` // "list"
	Data   []Listed `json:"data"`
}

// Listed is one entry of the model list.
type Listed struct {
	ID string `json:"id"`
}

// Ready and Live are the answers of the health endpoints.
type (
	Ready struct {
		Ready bool `json:"ready"`
	}
	Live struct {
		Live bool `json:"live"`
	}
)

// Error is the answer to any request that fails. Detail locates the problems in the body, if they are there.
type Error struct {
	Error  string `json:"error"`
	Detail any    `json:"detail,omitempty"`
}
