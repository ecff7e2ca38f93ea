package tei

import "retort/orchestrator/wire"

// Request is the body of POST /embed. Members that are not listed are tolerated.
type Request struct {
	_ struct{} `bind:"open"`

	// Inputs is one text or several.
	Inputs wire.Strings `json:"inputs" bind:"required"`
	// Model is a public id: see embedding.Service.Plain for the default. Beyond text-embeddings-inference, which serves one.
	Model *string `json:"model"`
	// PromptName is the mode of a model with two: "query" or "passage".
	PromptName *string `json:"prompt_name" oneof:"query passage"`
	// Truncate cuts texts that are too long, which is the default; false refuses them.
	Truncate *bool `json:"truncate"`
	// TruncationDirection is the end that is cut, "right" by default.
	TruncationDirection *string `json:"truncation_direction" oneof:"right left Right Left"`
	// Normalize must not be false: vectors have length 1.
	Normalize *bool `json:"normalize"`
	// Dimensions asks for shorter vectors, of models that have them.
	Dimensions *int `json:"dimensions"`
}

// Error is the answer to any request that fails.
type Error struct {
	Error     string `json:"error"`
	ErrorType string `json:"error_type"`
}
