package tei

import "retort/orchestrator/wire"

// Request is the body of POST /embed. Unknown members are ignored.
type Request struct {
	_ struct{} `bind:"open"`

	// Inputs is one text or several.
	Inputs wire.Strings `json:"inputs" bind:"required"`
	// Model is a public id, an extension: text-embeddings-inference serves one model. Default:
	// embedding.Service.DefaultID.
	Model *string `json:"model"`
	// PromptName is the mode, for a model with two.
	PromptName *string `json:"prompt_name" oneof:"query passage"`
	// Truncate cuts texts that are too long; false refuses them. Default true.
	Truncate *bool `json:"truncate"`
	// TruncationDirection is the end that is cut. Default "right".
	TruncationDirection *string `json:"truncation_direction" oneof:"right left Right Left"`
	// Normalize must not be false: vectors are always normalized.
	Normalize *bool `json:"normalize"`
	// Dimensions is the length of the vectors. Models without shorter vectors refuse it.
	Dimensions *int `json:"dimensions"`
}

// Error is the answer to any request that fails.
type Error struct {
	Error     string `json:"error"`
	ErrorType string `json:"error_type"`
}
