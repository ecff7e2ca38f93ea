package tei

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	jsonv2 "github.com/go-json-experiment/json"

	"retort/orchestrator/dialect/teibase"
	"retort/orchestrator/embedding"
	"retort/orchestrator/wire"
)

// Request is the body of POST /embed, /embed_all and /embed_sparse. Unknown members are ignored.
type Request struct {
	_ struct{} `bind:"open"`

	// Inputs is one text or several, each as text or as token ids of the model.
	Inputs Inputs `json:"inputs" bind:"required"`
	// Model is a public id, an extension: text-embeddings-inference serves one model. Default:
	// embedding.Service.DefaultID.
	Model *string `json:"model"`
	// Normalize is accepted and ignored: vectors always have length 1.
	Normalize *bool `json:"normalize"`
	// Dimensions is the length of the vectors. Models without shorter vectors refuse it.
	Dimensions *int `json:"dimensions"`
	Parameters
}

// Parameters are the members of requests that concern how texts are read.
type Parameters struct {
	// PromptName is the mode, for a model with two.
	PromptName *string `json:"prompt_name" oneof:"query passage"`
	// Truncate cuts texts that are too long; false refuses them. Default true.
	Truncate *bool `json:"truncate"`
	// TruncationDirection is the end that is cut. Default "right".
	TruncationDirection *string `json:"truncation_direction" oneof:"right left Right Left"`
}

// SimilarityRequest is the body of POST /similarity. Unknown members are ignored.
type SimilarityRequest struct {
	_ struct{} `bind:"open"`

	Inputs     Sentences   `json:"inputs" bind:"required"`
	Parameters *Parameters `json:"parameters"`
	// Model is a public id, an extension.
	Model *string `json:"model"`
}

// Sentences are a sentence and those to compare it with.
type Sentences struct {
	_ struct{} `bind:"open"`

	SourceSentence string   `json:"source_sentence" bind:"required"`
	Sentences      []string `json:"sentences" bind:"required"`
}

// Inputs are texts, as text or as token ids: "a" means ["a"], and [1, 2] means [[1, 2]].
type Inputs []Input

// Input is a text, or its tokens if IDs is not nil.
type Input struct {
	Text string
	IDs  []int32
}

// UnmarshalJSON decodes one input or a list of inputs.
func (in *Inputs) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	items := []json.RawMessage{data}
	if data[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		if len(list) == 0 || list[0][0] < '0' || list[0][0] > '9' {
			items = list
		}
	}
	*in = make(Inputs, len(items))
	for i, item := range items {
		input := &(*in)[i]
		var err error
		if item[0] == '[' {
			input.IDs, err = teibase.UnmarshalIDs(item)
		} else {
			err = json.Unmarshal(item, &input.Text)
		}
		if err != nil || item[0] == 'n' {
			return notInput.At(i)
		}
	}
	return nil
}

var notInput = wire.Mismatch{Rule: "string_type", Message: "Input should be a valid string or a list of token ids"}

// Vectors is the answer to a Request: a list of vectors. Its headers say how much of the texts the model read.
type Vectors struct {
	vectors []any
	usage   embedding.Usage
}

// MarshalJSONTo encodes the list of vectors.
func (v Vectors) MarshalJSONTo(e *jsontext.Encoder) error { return jsonv2.MarshalEncode(e, v.vectors) }

// Headers returns text-embeddings-inference's header for the tokens read, and one for those that were cut off.
func (v Vectors) Headers() map[string]string { return headers(v.usage) }

// Similarities is the answer to a SimilarityRequest: the cosines of the sentences.
type Similarities struct {
	cosines []float64
	usage   embedding.Usage
}

// MarshalJSONTo encodes the list of cosines.
func (s Similarities) MarshalJSONTo(e *jsontext.Encoder) error {
	return jsonv2.MarshalEncode(e, s.cosines)
}

// Headers returns the headers of Vectors.
func (s Similarities) Headers() map[string]string { return headers(s.usage) }

func headers(u embedding.Usage) map[string]string {
	return map[string]string{
		"X-Compute-Tokens":   strconv.Itoa(u.TotalTokens),
		"X-Truncated-Tokens": strconv.Itoa(u.TruncatedTokens),
	}
}
