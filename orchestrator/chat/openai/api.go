package openai

import (
	"encoding/json"

	"retort/orchestrator/chat"
)

// Parameters are the members that POST /v1/chat/completions and /v1/completions share.
type Parameters struct {
	Model     string `json:"model" bind:"required"`
	MaxTokens *int   `json:"max_tokens"` // maximum tokens of each answer
	MinTokens *int   `json:"min_tokens"`
	N         *int   `json:"n"`       // number of answers, default 1
	BestOf    *int   `json:"best_of"` // refused if it is not N
	Echo      *bool  `json:"echo"`    // prepends the prompt to the answer; refused for conversations

	Temperature       *float64 `json:"temperature"`        // 0 selects the likeliest token
	TopP              *float64 `json:"top_p"`              // (0, 1]
	TopK              *int     `json:"top_k"`              // -1 and 0 mean all
	MinP              *float64 `json:"min_p"`              // [0, 1]
	PresencePenalty   *float64 `json:"presence_penalty"`   // [-2, 2]
	FrequencyPenalty  *float64 `json:"frequency_penalty"`  // [-2, 2]
	RepetitionPenalty *float64 `json:"repetition_penalty"` // (0, 2]; 1 has no effect
	Seed              *int64   `json:"seed"`

	Stop              chat.StopStrings `json:"stop"`
	StopTokenIDs      []int            `json:"stop_token_ids"`
	IgnoreEOS         *bool            `json:"ignore_eos"`
	IncludeStop       *bool            `json:"include_stop_str_in_output"`
	SkipSpecialTokens *bool            `json:"skip_special_tokens"`

	LogitBias chat.NonEmptyObject `json:"logit_bias"` // refused

	Stream        *bool          `json:"stream"`
	StreamOptions *StreamOptions `json:"stream_options"`

	// Constraints on the answer; refused if the model's engine cannot apply them.
	ResponseFormat    *ResponseFormat `json:"response_format"`
	GuidedJSON        json.RawMessage `json:"guided_json"`
	GuidedRegex       json.RawMessage `json:"guided_regex"`
	GuidedChoice      json.RawMessage `json:"guided_choice"`
	GuidedGrammar     json.RawMessage `json:"guided_grammar"`
	StructuredOutputs json.RawMessage `json:"structured_outputs"`

	// Accepted and ignored, because they have no effect here.
	User     json.RawMessage `json:"user"`
	Metadata json.RawMessage `json:"metadata"`
}

// ChatRequest is the body of POST /v1/chat/completions.
type ChatRequest struct {
	Parameters
	Messages []Message `json:"messages" bind:"required"`

	MaxCompletionTokens *int  `json:"max_completion_tokens"` // newer name of MaxTokens, wins
	Logprobs            *bool `json:"logprobs"`
	TopLogprobs         *int  `json:"top_logprobs"` // 0 to 20

	AddGenerationPrompt  *bool `json:"add_generation_prompt"`
	ContinueFinalMessage *bool `json:"continue_final_message"`

	// Refused if the model's engine cannot apply them.
	Tools      ToolList[Tool]  `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	NVExt      json.RawMessage `json:"nvext"` // guided_* within an object

	// ParallelToolCalls allows several calls in one answer, the default.
	ParallelToolCalls *bool `json:"parallel_tool_calls"`

	// Refused.
	Functions      chat.NonEmptyList `json:"functions"`
	FunctionCall   json.RawMessage   `json:"function_call"`
	PromptLogprobs *int              `json:"prompt_logprobs"`
	Modalities     []string          `json:"modalities"` // other than "text"

	// Accepted and ignored, because they have no effect here.
	Store            json.RawMessage `json:"store"`
	ServiceTier      json.RawMessage `json:"service_tier"`
	PromptCacheKey   json.RawMessage `json:"prompt_cache_key"`
	SafetyIdentifier json.RawMessage `json:"safety_identifier"`
}

// Message is one turn. Its role is system (or developer), user, assistant, or tool (or function) for a tool's result.
type Message struct {
	Role         string             `json:"role" bind:"required"`
	Content      Content            `json:"content"`
	Name         *string            `json:"name"`          // ignored
	ToolCalls    ToolList[ToolCall] `json:"tool_calls"`    // of an earlier answer
	ToolCallID   *string            `json:"tool_call_id"`  // of a tool's result
	FunctionCall json.RawMessage    `json:"function_call"` // refused
	Audio        json.RawMessage    `json:"audio"`         // refused

	// Members of an earlier answer that the client returns. They are ignored.
	Refusal          json.RawMessage `json:"refusal"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Annotations      json.RawMessage `json:"annotations"`
}

// StreamOptions request usage in a stream.
type StreamOptions struct {
	IncludeUsage    *bool `json:"include_usage"`          // in a last chunk without choices
	ContinuousUsage *bool `json:"continuous_usage_stats"` // in every chunk, if IncludeUsage is set
	Obfuscation     *bool `json:"include_obfuscation"`    // ignored
}

// ResponseFormat constrains an answer to any JSON object or to a JSON schema.
type ResponseFormat struct {
	Type   string      `json:"type" bind:"required" oneof:"text json_object json_schema"`
	Schema *JSONSchema `json:"json_schema"`
	_      struct{}    `bind:"open"`
}

// JSONSchema is a schema with its name.
type JSONSchema struct {
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
	_           struct{}        `bind:"open"`
}

// Tool is a function that the model may call.
type Tool struct {
	Type     string   `json:"type"` // "function"
	Function Function `json:"function"`
}

// Function is a tool's name, description and parameters.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON schema
}

// ToolCall is one call of a tool, in an answer or in an earlier one that the client returns.
type ToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"` // "function"
	Function FunctionCall `json:"function"`
}

// FunctionCall is the name of the called function and its arguments as JSON text.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}
