package teibase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"retort/orchestrator/wire"
)

// Info is the answer of GET /info.
type Info struct {
	ModelID               string  `json:"model_id"`
	ModelSHA              *string `json:"model_sha"`   // null
	ModelDtype            string  `json:"model_dtype"` // of the answers: "float32"
	ServedModelName       string  `json:"served_model_name"`
	ModelType             any     `json:"model_type"`
	MaxConcurrentRequests int     `json:"max_concurrent_requests"`
	MaxInputLength        int     `json:"max_input_length"` // in tokens
	MaxBatchTokens        int     `json:"max_batch_tokens"`
	MaxBatchRequests      *int    `json:"max_batch_requests"` // null: no limit
	MaxClientBatchSize    int     `json:"max_client_batch_size"`
	AutoTruncate          bool    `json:"auto_truncate"` // true: requests that do not set truncate cut long texts
	TokenizationWorkers   int     `json:"tokenization_workers"`
	Version               string  `json:"version"`      // of this program
	SHA                   *string `json:"sha"`          // null
	DockerLabel           *string `json:"docker_label"` // null
}

// TokenizeRequest is the body of POST /tokenize. Unknown members are ignored.
type TokenizeRequest struct {
	_ struct{} `bind:"open"`

	// Inputs is one text or several.
	Inputs wire.Strings `json:"inputs" bind:"required"`
	// AddSpecialTokens adds the special tokens of the model. Default true.
	AddSpecialTokens *bool `json:"add_special_tokens"`
	// PromptName is the name of the prompt before each text.
	PromptName *string `json:"prompt_name"`
	// Model is a public id, an extension.
	Model *string `json:"model"`
}

// Token is a token of a text.
type Token struct {
	ID int32 `json:"id"`
	// Text is the part of the text, or of a special token its name.
	Text    string `json:"text"`
	Special bool   `json:"special"` // added to the text
	// Start and Stop are the bytes of the text, with its prompt; null if Special is true or they are unknown.
	Start *int `json:"start"`
	Stop  *int `json:"stop"`
}

// DecodeRequest is the body of POST /decode. Unknown members are ignored.
type DecodeRequest struct {
	_ struct{} `bind:"open"`

	// IDs is one list of token ids or several.
	IDs IDs `json:"ids" bind:"required"`
	// SkipSpecialTokens leaves special tokens out. Default true.
	SkipSpecialTokens *bool `json:"skip_special_tokens"`
	// Model is a public id, an extension.
	Model *string `json:"model"`
}

// IDs are lists of token ids: [1, 2] means [[1, 2]].
type IDs [][]int32

// UnmarshalJSON decodes one list of ids, or a list of lists. Together they have at most maxIDs ids.
func (l *IDs) UnmarshalJSON(data []byte) error {
	inside, isList := bytes.CutPrefix(bytes.TrimSpace(data), []byte("["))
	if !isList {
		return wire.NotList.At()
	}
	if !bytes.HasPrefix(bytes.TrimSpace(inside), []byte("[")) {
		ids, err := UnmarshalIDs(data)
		*l = IDs{ids}
		return err
	}
	if hasTooMany(data) {
		return tooManyIDs.At()
	}
	var lists []json.RawMessage
	if err := json.Unmarshal(data, &lists); err != nil {
		return err
	}
	*l = make(IDs, len(lists))
	for i, list := range lists {
		var err error
		if (*l)[i], err = UnmarshalIDs(list); err != nil {
			return notIDs.At(i)
		}
	}
	return nil
}

// UnmarshalIDs decodes a list of at most maxIDs token ids. An id that is too large for any vocabulary becomes -1, which
// has no token.
func UnmarshalIDs(data []byte) ([]int32, error) {
	if hasTooMany(data) {
		return nil, tooManyIDs.At()
	}
	var numbers []uint32
	// A null would become 0. Only a null has an n in a list of numbers.
	if bytes.ContainsRune(data, 'n') || json.Unmarshal(data, &numbers) != nil {
		return nil, notIDs.At()
	}
	ids := make([]int32, len(numbers))
	for i, n := range numbers {
		ids[i] = int32(n)
		if n > math.MaxInt32 {
			ids[i] = -1
		}
	}
	return ids, nil
}

// hasTooMany reports whether lists have more than maxIDs items. Only commas are counted, before anything is decoded.
func hasTooMany(lists []byte) bool { return bytes.Count(lists, []byte(",")) >= maxIDs }

var (
	notIDs     = wire.Mismatch{Rule: "list_type", Message: "Input should be a list of token ids"}
	tooManyIDs = wire.Mismatch{
		Rule:    "too_long",
		Message: fmt.Sprintf("Lists should have at most %d token ids together", maxIDs),
	}
)

// Error is the answer to any request that fails.
type Error struct {
	Error     string `json:"error"`
	ErrorType string `json:"error_type"`
}
