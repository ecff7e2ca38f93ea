package ranking

// Request is the body of POST /v1/ranking. It has no other members.
type Request struct {
	// Model is a public id; by default the first.
	Model *string `json:"model"`
	// Query is what the passages are ranked for.
	Query Text `json:"query" bind:"required"`
	// Passages are the candidates.
	Passages []Text `json:"passages" bind:"required"`
	// Truncate says what becomes of pairs longer than the model takes: NONE refuses them, END cuts the passage.
	Truncate string `json:"truncate" oneof:"NONE END"`
}

// Text is a query or a passage.
type Text struct {
	Text string `json:"text" bind:"required"`
}

// SetDefaults is called before the body is decoded.
func (r *Request) SetDefaults() { r.Truncate = "NONE" }

// Hosted is the body of POST /v1/retrieval/<model>/reranking, the path of hosted copies of the service.
type Hosted struct {
	Model    *string `json:"model"`
	Query    Text    `json:"query" bind:"required"`
	Passages []Text  `json:"passages" bind:"required"`
	Truncate string  `json:"truncate" oneof:"NONE END"`
	// TopK is how many passages are returned, default all.
	TopK *int `json:"top_k"`
}

// SetDefaults is called before the body is decoded.
func (h *Hosted) SetDefaults() { h.Truncate = "NONE" }

// request is what is asked at the documented path.
func (h *Hosted) request() *Request {
	return &Request{Model: h.Model, Query: h.Query, Passages: h.Passages, Truncate: h.Truncate}
}

// Response is the answer of POST /v1/ranking: one entry per passage, in descending order of logits, equal ones by
// index.
type Response struct {
	Rankings []Rank `json:"rankings"`
}

// Rank is one passage's place.
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

// Error is the answer to any request that fails. Detail locates the problem where a part of the body is to blame.
type Error struct {
	Error  string `json:"error"`
	Detail any    `json:"detail,omitempty"`
}
