package stack

import (
	"encoding/json"

	"retort/orchestrator/chat"
)

// Request is the body of the chat completion endpoints. It has the members of both versions.
type Request struct {
	Model    string    `json:"model"`
	ModelID  string    `json:"model_id"` // model in the newer version
	Messages []Message `json:"messages" bind:"required"`
	Sampling *Sampling `json:"sampling_params"`
	Stream   *bool     `json:"stream"`
	Logprobs *Logprobs `json:"logprobs"`

	Tools            chat.NonEmptyList `json:"tools"`
	ToolChoice       json.RawMessage   `json:"tool_choice"`        // no effect without tools
	ToolPromptFormat json.RawMessage   `json:"tool_prompt_format"` // no effect without tools
	ToolConfig       json.RawMessage   `json:"tool_config"`        // no effect without tools
	ResponseFormat   json.RawMessage   `json:"response_format"`
}

// Message is one turn. Its role is system, user or assistant.
type Message struct {
	Role       string            `json:"role" bind:"required"`
	Content    Content           `json:"content" bind:"required"`
	Context    Content           `json:"context"`     // appended to a user message
	StopReason *string           `json:"stop_reason"` // of an earlier answer; ignored
	ToolCalls  chat.NonEmptyList `json:"tool_calls"`
	CallID     *string           `json:"call_id"`
	ToolName   json.RawMessage   `json:"tool_name"`
}

// Sampling has the settings of sampling.
type Sampling struct {
	Strategy          Strategy         `json:"strategy"`
	Temperature       *float64         `json:"temperature"`
	TopP              *float64         `json:"top_p"`
	TopK              *int             `json:"top_k"`
	MaxTokens         *int             `json:"max_tokens"` // 0 is no limit
	RepetitionPenalty *float64         `json:"repetition_penalty"`
	Stop              chat.StopStrings `json:"stop"`
}

// Logprobs requests log probabilities of each token and of the TopK likeliest ones in its place.
type Logprobs struct {
	TopK *int `json:"top_k"`
}

// Response is an answer in one piece.
type Response struct {
	CompletionMessage CompletionMessage `json:"completion_message"`
	Logprobs          *[]Logprob        `json:"logprobs"` // null unless requested
}

// CompletionMessage is the model's answer.
type CompletionMessage struct {
	Role       string     `json:"role"` // "assistant"
	Content    string     `json:"content"`
	StopReason string     `json:"stop_reason"` // "end_of_turn" or "out_of_tokens"
	ToolCalls  []struct{} `json:"tool_calls"`  // always empty
}

// Logprob has the log probabilities of the likeliest tokens at one position.
type Logprob struct {
	ByToken map[string]float64 `json:"logprobs_by_token"`
}

// Event is one event of a streamed answer.
type Event struct {
	Event Progress `json:"event"`
}

// Progress is one step of a stream: "start", then "progress" with text, then "complete" with a stop reason. Delta is a
// string in the older version and a TypedDelta in the newer one.
type Progress struct {
	Type       string     `json:"event_type"`
	Delta      any        `json:"delta"`
	Logprobs   *[]Logprob `json:"logprobs"`
	StopReason *string    `json:"stop_reason"`
}

// TypedDelta is new text in the newer version.
type TypedDelta struct {
	Type string `json:"type"` // "text"
	Text string `json:"text"`
}

// ModelDefinition is one model of GET /models/list.
type ModelDefinition struct {
	Identifier string            `json:"identifier"`  // public id
	LlamaModel string            `json:"llama_model"` // the same
	Metadata   map[string]string `json:"metadata"`    // always empty
	ProviderID string            `json:"provider_id"`
	Type       string            `json:"type"` // "model"
}
