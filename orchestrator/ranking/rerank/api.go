package rerank

// Request is the body of all three paths. Members that are not listed are tolerated: clients of so many services send
// some of their own.
type Request struct {
	_ struct{} `bind:"open"`

	// Model is a public id; by default the first.
	Model *string `json:"model"`
	// Query is what documents or texts are ranked for.
	Query string `json:"query" bind:"required"`

	// Members of Cohere's and Jina's requests.

	// Documents are the candidates: texts, or objects whose member text is one.
	Documents []Document `json:"documents"`
	// TopN is how many are returned, default all.
	TopN *int `json:"top_n"`
	// ReturnDocuments adds each document to its result.
	ReturnDocuments *bool `json:"return_documents"`
	// RankFields names the members of documents to rank by, in order, where it is not text.
	RankFields []string `json:"rank_fields"`
	// MaxTokensPerDoc bounds the tokens of a document that are read; what is longer than the model takes is cut anyway.
	MaxTokensPerDoc *int `json:"max_tokens_per_doc"`
	MaxDocLength    *int `json:"max_doc_length"` // Jina's name of it
	// ReturnEmbeddings cannot be had of the models here.
	ReturnEmbeddings *bool `json:"return_embeddings"`

	// Members of text-embeddings-inference's requests.

	// Texts are the candidates.
	Texts []string `json:"texts"`
	// RawScores answers with logits.
	RawScores *bool `json:"raw_scores"`
	// ReturnText adds each text to its rank.
	ReturnText *bool `json:"return_text"`
	// Truncate cuts texts that are too long, which is the default; false refuses them.
	Truncate *bool `json:"truncate"`
	// TruncationDirection is the end that is cut: only "right".
	TruncationDirection *string `json:"truncation_direction"`
}

// Response is the answer to documents, best first, equal ones by index. Meta is read by Cohere's clients, Usage by
// Jina's and vLLM's.
type Response struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"` // "list"
	Model   string   `json:"model"`
	Results []Result `json:"results"`
	Meta    Meta     `json:"meta"`
	Usage   Usage    `json:"usage"`
}

// Result is one document's place.
type Result struct {
	Index          int     `json:"index"`           // in the request
	RelevanceScore float64 `json:"relevance_score"` // 0 to 1: see the package
	// Document is the object of the request, or {"text": …}; only with return_documents.
	Document any `json:"document,omitempty"`
}

// Meta is what Cohere says of the work.
type Meta struct {
	APIVersion  APIVersion  `json:"api_version"`
	BilledUnits BilledUnits `json:"billed_units"`
	Tokens      Tokens      `json:"tokens"`
}

// APIVersion is that of Cohere's interface.
type APIVersion struct {
	Version string `json:"version"` // "2"
}

// BilledUnits counts one search unit for each hundred documents.
type BilledUnits struct {
	SearchUnits int `json:"search_units"`
}

// Tokens counts those of all pairs of query and document.
type Tokens struct {
	InputTokens int `json:"input_tokens"`
}

// Usage counts the same tokens in OpenAI's words.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// Rank is one text's place in the answer to texts, which is a list of these, best first.
type Rank struct {
	Index int     `json:"index"`          // in the request
	Text  *string `json:"text,omitempty"` // only with return_text
	Score float64 `json:"score"`          // 0 to 1, or the logit with raw_scores
}

// CohereError is a failure at /v2/rerank.
type CohereError struct {
	Message string `json:"message"`
}

// JinaError is a failure at /v1/rerank, for Cohere's clients and Jina's.
type JinaError struct {
	Message string `json:"message"`
	Detail  string `json:"detail"`
}

// TEIError is a failure at /rerank, for all clients that use it.
type TEIError struct {
	Error     string `json:"error"`
	ErrorType string `json:"error_type"`
	Message   string `json:"message"`
	Detail    string `json:"detail"`
}
