package openai

import (
	"encoding/json"

	"retort/orchestrator/chat"
)

// ResponseRequest is the body of POST /v1/responses (https://platform.openai.com/docs/api-reference/responses).
type ResponseRequest struct {
	Model string `json:"model" bind:"required"`
	// Input is a text (one user message) or the items of a conversation.
	Input Items `json:"input" bind:"required"`
	// Instructions are a system message before the input.
	Instructions *string `json:"instructions"`

	// PreviousResponseID is the id of a stored response whose conversation this request continues.
	PreviousResponseID *string `json:"previous_response_id"`
	// Store keeps the response for later requests. The default is true, except for the lines of a batch.
	Store *bool `json:"store"`
	// Background answers at once with a queued response, which a later request reads.
	Background *bool `json:"background"`
	// Metadata has at most 16 pairs. The response repeats it.
	Metadata map[string]string `json:"metadata"`

	MaxOutputTokens  *int     `json:"max_output_tokens"`
	Temperature      *float64 `json:"temperature"`
	TopP             *float64 `json:"top_p"`
	PresencePenalty  *float64 `json:"presence_penalty"`
	FrequencyPenalty *float64 `json:"frequency_penalty"`
	TopLogprobs      *int     `json:"top_logprobs"` // 0 to 20; needs message.output_text.logprobs in Include
	Stream           *bool    `json:"stream"`

	Text       *TextConfig     `json:"text"`
	Tools      []ResponseTool  `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Include    []string        `json:"include"`

	// Refused.
	Conversation json.RawMessage `json:"conversation"`
	Prompt       json.RawMessage `json:"prompt"`

	// ParallelToolCalls allows several calls in one response, the default.
	ParallelToolCalls *bool `json:"parallel_tool_calls"`

	// The response repeats these; they do not change it.
	MaxToolCalls     *int    `json:"max_tool_calls"`
	SafetyIdentifier *string `json:"safety_identifier"`
	PromptCacheKey   *string `json:"prompt_cache_key"`
	User             *string `json:"user"`

	// Accepted and ignored.
	Truncation           json.RawMessage `json:"truncation"`
	Reasoning            json.RawMessage `json:"reasoning"`
	ServiceTier          json.RawMessage `json:"service_tier"`
	StreamOptions        json.RawMessage `json:"stream_options"`
	PromptCacheRetention json.RawMessage `json:"prompt_cache_retention"`
}

// TextConfig describes the requested text.
type TextConfig struct {
	Format    *TextFormat     `json:"format"`
	Verbosity json.RawMessage `json:"verbosity"` // ignored
}

// TextFormat constrains the text to any JSON object or to a JSON schema.
type TextFormat struct {
	Type        string          `json:"type" bind:"required" oneof:"text json_object json_schema"`
	Name        *string         `json:"name,omitzero"`
	Description *string         `json:"description,omitzero"`
	Schema      json.RawMessage `json:"schema,omitzero"`
	Strict      *bool           `json:"strict,omitzero"`
}

// ResponseTool is a function that the model may call.
type ResponseTool struct {
	Type        string          `json:"type" bind:"required" oneof:"function"`
	Name        string          `json:"name" bind:"required"`
	Description *string         `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
	_           struct{}        `bind:"open"`
}

// Item is one item of a conversation.
type Item struct {
	Type    string // "message", "function_call", "function_call_output" or "reasoning"
	Role    string
	Content []chat.Part
	CallID  string
	Call    FunctionCall
	Raw     json.RawMessage // as the client sent it
}

// Response is the response of POST /v1/responses. Events of a stream hold its state so far. Its members are those that
// Open Responses requires (https://www.openresponses.org), and user.
type Response struct {
	ID                 string            `json:"id"`     // "resp_…"
	Object             string            `json:"object"` // "response"
	CreatedAt          int64             `json:"created_at"`
	CompletedAt        *int64            `json:"completed_at"` // null unless the status is "completed"
	Status             Status            `json:"status"`
	Background         bool              `json:"background"`
	Error              *ResponseError    `json:"error"`
	IncompleteDetails  *Incomplete       `json:"incomplete_details"`
	Instructions       *string           `json:"instructions"`
	MaxOutputTokens    *int              `json:"max_output_tokens"` // as many as fit if more were requested
	MaxToolCalls       *int              `json:"max_tool_calls"`
	Model              string            `json:"model"`
	Output             []OutputItem      `json:"output"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	PreviousResponseID *string           `json:"previous_response_id"`
	PromptCacheKey     *string           `json:"prompt_cache_key"`
	Reasoning          Reasoning         `json:"reasoning"`
	SafetyIdentifier   *string           `json:"safety_identifier"`
	ServiceTier        string            `json:"service_tier"` // "default"
	Store              bool              `json:"store"`        // whether the response is kept
	Temperature        float64           `json:"temperature"`
	PresencePenalty    float64           `json:"presence_penalty"`
	FrequencyPenalty   float64           `json:"frequency_penalty"`
	Text               ResponseText      `json:"text"`
	ToolChoice         any               `json:"tool_choice"`
	Tools              []ResponseTool    `json:"tools"`
	TopLogprobs        int               `json:"top_logprobs"`
	TopP               float64           `json:"top_p"`
	Truncation         string            `json:"truncation"` // "disabled"
	Usage              *ResponseUsage    `json:"usage"`
	User               *string           `json:"user"`
	Metadata           map[string]string `json:"metadata"`
}

// Status is the state of a response.
type Status string

// The states of a response. Only a background response can be queued or cancelled.
const (
	queued     Status = "queued"
	inProgress Status = "in_progress"
	completed  Status = "completed"
	incomplete Status = "incomplete"
	failed     Status = "failed"
	cancelled  Status = "cancelled"
)

// ItemList is a page of the items that a model received before its response.
type ItemList struct {
	Object  string            `json:"object"` // "list"
	Data    []json.RawMessage `json:"data"`
	FirstID *string           `json:"first_id"` // null: the page is empty
	LastID  *string           `json:"last_id"`
	HasMore bool              `json:"has_more"`
}

// DeletedResponse is the answer of DELETE /v1/responses/{id}.
type DeletedResponse struct {
	ID      string `json:"id"`
	Object  string `json:"object"` // "response"
	Deleted bool   `json:"deleted"`
}

// ResponseError says why a response failed.
type ResponseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Incomplete says why a response ended early.
type Incomplete struct {
	Reason string `json:"reason"` // "max_output_tokens"
}

// Reasoning is empty, because no model here reports its reasoning.
type Reasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// ResponseText is the format of the text.
type ResponseText struct {
	Format TextFormat `json:"format"`
}

// OutputItem is a message or a tool call. It omits the members of the other.
type OutputItem struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`   // "message" or "function_call"
	Status    Status        `json:"status"` // in_progress, completed or incomplete
	Role      string        `json:"role,omitzero"`
	Content   *[]OutputText `json:"content,omitzero"`
	CallID    string        `json:"call_id,omitzero"`
	Name      string        `json:"name,omitzero"`
	Arguments *string       `json:"arguments,omitzero"`
}

// OutputText is the text of a message.
type OutputText struct {
	Type        string         `json:"type"` // "output_text"
	Text        string         `json:"text"`
	Annotations []struct{}     `json:"annotations"` // always empty
	Logprobs    []TokenLogprob `json:"logprobs"`
}

// ResponseUsage counts tokens.
type ResponseUsage struct {
	InputTokens         int          `json:"input_tokens"`
	InputTokensDetails  InputDetail  `json:"input_tokens_details"`
	OutputTokens        int          `json:"output_tokens"`
	OutputTokensDetails OutputDetail `json:"output_tokens_details"`
	TotalTokens         int          `json:"total_tokens"`
}

// InputDetail and OutputDetail are always 0.
type (
	InputDetail struct {
		CachedTokens int `json:"cached_tokens"`
	}
	OutputDetail struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	}
)
