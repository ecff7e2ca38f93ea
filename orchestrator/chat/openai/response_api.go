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

	MaxOutputTokens *int     `json:"max_output_tokens"`
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`
	TopLogprobs     *int     `json:"top_logprobs"` // 0 to 20; needs message.output_text.logprobs in Include
	Stream          *bool    `json:"stream"`

	Text       *TextConfig     `json:"text"`
	Tools      []ResponseTool  `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Include    []string        `json:"include"`

	// Refused: the service keeps no state and runs no background work.
	PreviousResponseID *string         `json:"previous_response_id"`
	Conversation       json.RawMessage `json:"conversation"`
	Prompt             json.RawMessage `json:"prompt"`
	Background         *bool           `json:"background"`

	// Accepted and ignored.
	Store                json.RawMessage `json:"store"`
	Metadata             json.RawMessage `json:"metadata"`
	Truncation           json.RawMessage `json:"truncation"`
	Reasoning            json.RawMessage `json:"reasoning"`
	ParallelToolCalls    *bool           `json:"parallel_tool_calls"`
	MaxToolCalls         *int            `json:"max_tool_calls"`
	ServiceTier          json.RawMessage `json:"service_tier"`
	StreamOptions        json.RawMessage `json:"stream_options"`
	User                 json.RawMessage `json:"user"`
	SafetyIdentifier     json.RawMessage `json:"safety_identifier"`
	PromptCacheKey       json.RawMessage `json:"prompt_cache_key"`
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
	Call    FunctionCall
}

// Response is the response of POST /v1/responses. Events of a stream hold its state so far.
type Response struct {
	ID                 string          `json:"id"`     // "resp_…"
	Object             string          `json:"object"` // "response"
	CreatedAt          int64           `json:"created_at"`
	Status             string          `json:"status"` // "in_progress", "completed", "incomplete" or "failed"
	Background         bool            `json:"background"`
	Error              *ResponseError  `json:"error"`
	IncompleteDetails  *Incomplete     `json:"incomplete_details"`
	Instructions       *string         `json:"instructions"`
	MaxOutputTokens    *int            `json:"max_output_tokens"` // as many as fit if more were requested
	Model              string          `json:"model"`
	Output             []OutputItem    `json:"output"`
	ParallelToolCalls  bool            `json:"parallel_tool_calls"`
	PreviousResponseID *string         `json:"previous_response_id"`
	Reasoning          Reasoning       `json:"reasoning"`
	Store              bool            `json:"store"`
	Temperature        *float64        `json:"temperature"`
	Text               ResponseText    `json:"text"`
	ToolChoice         any             `json:"tool_choice"`
	Tools              []ResponseTool  `json:"tools"`
	TopLogprobs        int             `json:"top_logprobs"`
	TopP               *float64        `json:"top_p"`
	Truncation         string          `json:"truncation"` // "disabled"
	Usage              *ResponseUsage  `json:"usage"`
	User               *string         `json:"user"`
	Metadata           json.RawMessage `json:"metadata"`
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
	Status    string        `json:"status"` // "in_progress", "completed" or "incomplete"
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
