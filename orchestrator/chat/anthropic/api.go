package anthropic

import (
	"encoding/json"

	"retort/orchestrator/chat"
)

// Request is the body of POST /v1/messages.
type Request struct {
	Input
	MaxTokens     *int             `json:"max_tokens" bind:"required"`
	StopSequences chat.StopStrings `json:"stop_sequences"`
	Stream        *bool            `json:"stream"`
	Temperature   *float64         `json:"temperature"`
	TopP          *float64         `json:"top_p"`
	TopK          *int             `json:"top_k"`

	// Accepted and ignored, because they have no effect here.
	Metadata     json.RawMessage `json:"metadata"`
	ServiceTier  json.RawMessage `json:"service_tier"`
	InferenceGeo json.RawMessage `json:"inference_geo"`
	Speed        json.RawMessage `json:"speed"`
	Diagnostics  json.RawMessage `json:"diagnostics"`
}

// Input is the body of POST /v1/messages/count_tokens, and what the model reads in a Request.
type Input struct {
	Model        string        `json:"model" bind:"required"`
	Messages     []Turn        `json:"messages" bind:"required"`
	System       Content       `json:"system"`
	Tools        Tools         `json:"tools"`
	ToolChoice   *ToolChoice   `json:"tool_choice"`
	OutputConfig *OutputConfig `json:"output_config"`

	// Accepted and ignored: the models here do not think before they answer, and nothing is cached between requests.
	Thinking          json.RawMessage `json:"thinking"`
	CacheControl      json.RawMessage `json:"cache_control"`
	ContextManagement json.RawMessage `json:"context_management"`

	// Refused.
	MCPServers chat.NonEmptyList `json:"mcp_servers"`
	Container  json.RawMessage   `json:"container"`
}

// Turn is one message. Its role is user, assistant or system.
type Turn struct {
	Role    string  `json:"role" bind:"required"`
	Content Content `json:"content" bind:"required"`
}

// Tool is a function that the model may call.
type Tool struct {
	Type        *string         `json:"type"` // nil or "custom"; others are tools of Anthropic's servers
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"` // a JSON schema
}

// ToolChoice says whether the model must call a tool.
type ToolChoice struct {
	Type   string   `json:"type" bind:"required" oneof:"auto any tool none"`
	Name   *string  `json:"name"`                      // of the tool, with type "tool"
	Single bool     `json:"disable_parallel_tool_use"` // at most one call in the answer
	_      struct{} `bind:"open"`
}

// OutputConfig constrains the text of an answer.
type OutputConfig struct {
	Format *Format         `json:"format"`
	Effort json.RawMessage `json:"effort"` // ignored
}

// Format is a JSON schema that the text of an answer follows.
type Format struct {
	Type   string          `json:"type" bind:"required" oneof:"json_schema"`
	Schema json.RawMessage `json:"schema" bind:"required"`
	_      struct{}        `bind:"open"`
}

// Message is an answer.
type Message struct {
	ID           string        `json:"id"`   // "msg_…"
	Type         string        `json:"type"` // "message"
	Role         string        `json:"role"` // "assistant"
	Model        string        `json:"model"`
	Content      []AnswerBlock `json:"content"`
	StopReason   *string       `json:"stop_reason"` // "end_turn", "max_tokens", "stop_sequence" or "tool_use"
	StopSequence *string       `json:"stop_sequence"`
	Usage        Usage         `json:"usage"`
	// MaxTokens is the maximum length of the answer if the requested one did not fit.
	MaxTokens int `json:"max_tokens,omitzero"`
}

// AnswerBlock is a text, or a call of a tool.
type AnswerBlock struct {
	Type  string          `json:"type"` // "text" or "tool_use"
	Text  *string         `json:"text,omitzero"`
	ID    string          `json:"id,omitzero"` // "toolu_…"
	Name  string          `json:"name,omitzero"`
	Input json.RawMessage `json:"input,omitzero"` // an object
}

// Usage counts tokens, special tokens included. Both are 0 if neither the engine nor a tokenizer counts them.
type Usage struct {
	InputTokens         int `json:"input_tokens"`
	CacheCreationTokens int `json:"cache_creation_input_tokens"` // always 0
	CacheReadTokens     int `json:"cache_read_input_tokens"`     // always 0
	OutputTokens        int `json:"output_tokens"`
}

// Count is the answer to POST /v1/messages/count_tokens.
type Count struct {
	InputTokens int `json:"input_tokens"`
}

// ModelPage is a part of the model list.
type ModelPage struct {
	Data    []Model `json:"data"`
	HasMore bool    `json:"has_more"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

// Model is one entry of the model list.
type Model struct {
	Type           string `json:"type"` // "model"
	ID             string `json:"id"`
	DisplayName    string `json:"display_name"`
	CreatedAt      string `json:"created_at"` // RFC 3339
	Lifecycle      string `json:"lifecycle"`  // "active"
	MaxInputTokens int    `json:"max_input_tokens"`
}

// Error is the body of a failed request, and the data of the event that ends a stream that fails.
type Error struct {
	Type      string  `json:"type"` // "error"
	Error     Problem `json:"error"`
	RequestID string  `json:"request_id"`
}

// Problem says what is wrong. The message names the members at fault, such as messages.0.content.
type Problem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// SetRequestID sets the id of the request: gateway.Identified.
func (e *Error) SetRequestID(id string) { e.RequestID = id }
