package rerank

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/ranking"
)

// Request is the body at all three paths. Unknown members are ignored, since clients send hints for other models.
type Request struct {
	_ struct{} `bind:"open"`

	// Model is a public id. Default: the first model.
	Model *string `json:"model"`
	// Query is the text that documents or texts are ranked by.
	Query string `json:"query" bind:"required"`

	// ScoreThreshold leaves out candidates with a lower relevance score. Default: none.
	ScoreThreshold *float64 `json:"score_threshold"`

	// Members of Cohere's and Jina's requests.

	// Documents are the candidates: texts, or objects with a member text.
	Documents []Document `json:"documents"`
	// TopN is the most candidates to return. Default: all.
	TopN *int `json:"top_n"`
	// ReturnDocuments adds each document to its result.
	ReturnDocuments *bool `json:"return_documents"`
	// RankFields names the members of documents to rank by, in order. Default: text.
	RankFields []string `json:"rank_fields"`
	// MaxTokensPerDoc is the most tokens of a document that are read. Default 4096.
	MaxTokensPerDoc *int `json:"max_tokens_per_doc"`
	MaxDocLength    *int `json:"max_doc_length"` // Jina's name of MaxTokensPerDoc
	// ReturnEmbeddings is refused: rankers have no embeddings.
	ReturnEmbeddings *bool `json:"return_embeddings"`

	// Members of text-embeddings-inference's requests.

	// Texts are the candidates.
	Texts []string `json:"texts"`
	// RawScores returns logits as scores.
	RawScores *bool `json:"raw_scores"`
	// ReturnText adds each text to its rank.
	ReturnText *bool `json:"return_text"`
	// Truncate cuts texts that are too long; false refuses them. Default true.
	Truncate *bool `json:"truncate"`
	// TruncationDirection is the end that is cut. Rankers cut only the right one.
	TruncationDirection *string `json:"truncation_direction" oneof:"right Right"`
}

// Response is the answer to documents, best first, equal ones by index. Cohere's clients read Meta; Jina's and vLLM's
// read Usage.
type Response struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"` // "list"
	Model   string   `json:"model"`
	Results []Result `json:"results"`
	Meta    Meta     `json:"meta"`
	Usage   Usage    `json:"usage"`
}

// Result is a document with its score.
type Result struct {
	Index          int     `json:"index"`           // in the request
	RelevanceScore float64 `json:"relevance_score"` // 0 to 1: see the package
	// Document is the object of the request, or {"text": …}; only with return_documents.
	Document any `json:"document,omitempty"`
}

// Meta is what Cohere reports about a request.
type Meta struct {
	APIVersion  APIVersion  `json:"api_version"`
	BilledUnits BilledUnits `json:"billed_units"`
	Tokens      Tokens      `json:"tokens"`
	Warnings    []string    `json:"warnings,omitempty"` // what was not read
}

// APIVersion is the version of Cohere's API.
type APIVersion struct {
	Version string `json:"version"` // "2"
}

// BilledUnits counts a search unit for every started hundred documents, of which each chunk counts as one.
type BilledUnits struct {
	SearchUnits int `json:"search_units"`
}

// Tokens counts the tokens of all pairs of query and document.
type Tokens struct {
	InputTokens int `json:"input_tokens"`
}

// Usage counts the same tokens in OpenAI's form.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// Rank is a text with its score. The answer to texts is a list of ranks, best first.
type Rank struct {
	Index int     `json:"index"`          // in the request
	Text  *string `json:"text,omitempty"` // only with return_text
	Score float64 `json:"score"`          // 0 to 1, or the logit with raw_scores
}

// Scored is an answer in the form of text-embeddings-inference. Its headers say how much the model read.
type Scored struct {
	list any
	read ranking.Reading
}

// MarshalJSONTo encodes the list.
func (s Scored) MarshalJSONTo(e *jsontext.Encoder) error { return json.MarshalEncode(e, s.list) }

// Headers returns text-embeddings-inference's header for the tokens read, and one for those that were cut off.
func (s Scored) Headers() map[string]string {
	return map[string]string{
		"X-Compute-Tokens":   strconv.Itoa(s.read.Tokens),
		"X-Truncated-Tokens": strconv.Itoa(s.read.Truncated),
	}
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
