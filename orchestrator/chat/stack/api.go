package stack

import (
	"encoding/json"

	"retort/orchestrator/chat"
)

// Request is the body of the stack-style interface, in the form of autumn 2024 and in the newer one, which renames
// model and types the parts.
type Request struct {
	Model    string    `json:"model"`
	ModelID  string    `json:"model_id"` // newer name of model
	Messages []Message `json:"messages" bind:"required"`
	Sampling *Sampling `json:"sampling_params"`
	Stream   *bool     `json:"stream"`
	Logprobs *Logprobs `json:"logprobs"`

	Tools            chat.HasItems   `json:"tools"`
	ToolChoice       json.RawMessage `json:"tool_choice"`        // means nothing without tools
	ToolPromptFormat json.RawMessage `json:"tool_prompt_format"` // the same
	ToolConfig       json.RawMessage `json:"tool_config"`        // the same
	ResponseFormat   json.RawMessage `json:"response_format"`
}

// Message is one turn. Roles: system, user, assistant.
type Message struct {
	Role       string          `json:"role" bind:"required"`
	Content    Content         `json:"content" bind:"required"`
	Context    Content         `json:"context"`     // of a user message: put behind it
	StopReason *string         `json:"stop_reason"` // of an answer sent back; ignored
	ToolCalls  chat.HasItems   `json:"tool_calls"`
	CallID     *string         `json:"call_id"`
	ToolName   json.RawMessage `json:"tool_name"`
}

// Sampling says how the answer is chosen.
type Sampling struct {
	Strategy          Strategy   `json:"strategy"`
	Temperature       *float64   `json:"temperature"`
	TopP              *float64   `json:"top_p"`
	TopK              *int       `json:"top_k"`
	MaxTokens         *int       `json:"max_tokens"` // 0 is no limit
	RepetitionPenalty *float64   `json:"repetition_penalty"`
	Stop              chat.Stops `json:"stop"`
}

// Logprobs asks for log probabilities: of the token chosen and of the TopK likeliest ones in its place.
type Logprobs struct {
	TopK *int `json:"top_k"`
}

// Response is an answer in one piece.
type Response struct {
	CompletionMessage Written    `json:"completion_message"`
	Logprobs          *[]Logprob `json:"logprobs"` // null unless asked for
}

// Written is what the model wrote.
type Written struct {
	Role       string     `json:"role"` // "assistant"
	Content    string     `json:"content"`
	StopReason string     `json:"stop_reason"` // "end_of_turn" or "out_of_tokens"
	ToolCalls  []struct{} `json:"tool_calls"`  // always empty
}

// Logprob is the log probability of each token that was likely at one place.
type Logprob struct {
	ByToken map[string]float64 `json:"logprobs_by_token"`
}

// Event is one event of a streamed answer.
type Event struct {
	Event Progress `json:"event"`
}

// Progress is one step of a stream: "start", then "progress" with text, then "complete" with a stop reason. Delta is a
// string, and {"type": "text", "text": …} in the newer form.
type Progress struct {
	Type       string     `json:"event_type"`
	Delta      any        `json:"delta"`
	Logprobs   *[]Logprob `json:"logprobs"`
	StopReason *string    `json:"stop_reason"`
}

// TypedDelta is new text in the newer form.
type TypedDelta struct {
	Type string `json:"type"` // "text"
	Text string `json:"text"`
}
