package openai

import (
	"encoding/json"

	"retort/orchestrator/chat"
)

// Request is the body of POST /v1/chat/completions.
type Request struct {
	Model    string    `json:"model" bind:"required"`
	Messages []Message `json:"messages" bind:"required"`

	// MaxTokens bounds each answer; MaxCompletionTokens is its newer name and wins. Neither: as many as fit.
	MaxTokens           *int `json:"max_tokens" bind:"nullable"`
	MaxCompletionTokens *int `json:"max_completion_tokens" bind:"nullable"`
	MinTokens           *int `json:"min_tokens" bind:"nullable"`
	// N is the number of answers, default 1.
	N      *int `json:"n" bind:"nullable"`
	BestOf *int `json:"best_of" bind:"nullable"`

	Temperature       *float64 `json:"temperature" bind:"nullable"`        // 0 takes the likeliest token
	TopP              *float64 `json:"top_p" bind:"nullable"`              // (0, 1]
	TopK              *int     `json:"top_k" bind:"nullable"`              // -1 or 0: all
	MinP              *float64 `json:"min_p" bind:"nullable"`              // [0, 1]
	PresencePenalty   *float64 `json:"presence_penalty" bind:"nullable"`   // [-2, 2]
	FrequencyPenalty  *float64 `json:"frequency_penalty" bind:"nullable"`  // [-2, 2]
	RepetitionPenalty *float64 `json:"repetition_penalty" bind:"nullable"` // above 0, 1 is none
	Seed              *int64   `json:"seed" bind:"nullable"`

	Stop              chat.Stops `json:"stop" bind:"nullable"`
	StopTokenIDs      []int      `json:"stop_token_ids" bind:"nullable"`
	IgnoreEOS         *bool      `json:"ignore_eos" bind:"nullable"`
	IncludeStop       *bool      `json:"include_stop_str_in_output" bind:"nullable"`
	SkipSpecialTokens *bool      `json:"skip_special_tokens" bind:"nullable"`

	Logprobs    *bool `json:"logprobs" bind:"nullable"`
	TopLogprobs *int  `json:"top_logprobs" bind:"nullable"` // 0 to 20

	Stream        *bool          `json:"stream" bind:"nullable"`
	StreamOptions *StreamOptions `json:"stream_options" bind:"nullable"`

	AddGenerationPrompt  *bool `json:"add_generation_prompt" bind:"nullable"`
	ContinueFinalMessage *bool `json:"continue_final_message" bind:"nullable"`

	// What this service cannot do is refused where it would change the answer.
	Tools             chat.HasItems   `json:"tools" bind:"nullable"`
	ToolChoice        json.RawMessage `json:"tool_choice" bind:"nullable"`
	Functions         chat.HasItems   `json:"functions" bind:"nullable"`
	FunctionCall      json.RawMessage `json:"function_call" bind:"nullable"`
	ResponseFormat    *ResponseFormat `json:"response_format" bind:"nullable"`
	GuidedJSON        json.RawMessage `json:"guided_json" bind:"nullable"`
	GuidedRegex       json.RawMessage `json:"guided_regex" bind:"nullable"`
	GuidedChoice      json.RawMessage `json:"guided_choice" bind:"nullable"`
	GuidedGrammar     json.RawMessage `json:"guided_grammar" bind:"nullable"`
	StructuredOutputs json.RawMessage `json:"structured_outputs" bind:"nullable"`
	NVExt             json.RawMessage `json:"nvext" bind:"nullable"`
	LogitBias         chat.HasMembers `json:"logit_bias" bind:"nullable"`
	PromptLogprobs    *int            `json:"prompt_logprobs" bind:"nullable"`
	Echo              *bool           `json:"echo" bind:"nullable"`
	Modalities        []string        `json:"modalities" bind:"nullable"`

	// Accepted and ignored: they concern nothing that this service has.
	User              json.RawMessage `json:"user" bind:"nullable"`
	Metadata          json.RawMessage `json:"metadata" bind:"nullable"`
	Store             json.RawMessage `json:"store" bind:"nullable"`
	ServiceTier       json.RawMessage `json:"service_tier" bind:"nullable"`
	ParallelToolCalls json.RawMessage `json:"parallel_tool_calls" bind:"nullable"`
	PromptCacheKey    json.RawMessage `json:"prompt_cache_key" bind:"nullable"`
	SafetyIdentifier  json.RawMessage `json:"safety_identifier" bind:"nullable"`
}

// Message is one turn. Roles: system (or developer), user, assistant.
type Message struct {
	Role      string          `json:"role" bind:"required"`
	Content   Content         `json:"content" bind:"nullable"`
	Name      *string         `json:"name" bind:"nullable"`      // ignored
	Refusal   json.RawMessage `json:"refusal" bind:"nullable"`   // of an answer sent back; ignored
	Reasoning json.RawMessage `json:"reasoning" bind:"nullable"` // ignored
	Thinking  json.RawMessage `json:"reasoning_content" bind:"nullable"`
	Audio     json.RawMessage `json:"audio" bind:"nullable"`
	Notes     json.RawMessage `json:"annotations" bind:"nullable"`
	Function  json.RawMessage `json:"function_call" bind:"nullable"`
	ToolCalls chat.HasItems   `json:"tool_calls" bind:"nullable"` // refused unless empty
}

// StreamOptions ask for usage in a stream.
type StreamOptions struct {
	IncludeUsage    *bool `json:"include_usage" bind:"nullable"`          // in a chunk before the end
	ContinuousUsage *bool `json:"continuous_usage_stats" bind:"nullable"` // in every chunk
	Obfuscation     *bool `json:"include_obfuscation" bind:"nullable"`    // ignored
}

// ResponseFormat asks for structured output; only {"type": "text"} is served.
type ResponseFormat struct {
	Type   string          `json:"type" bind:"required"`
	Schema json.RawMessage `json:"json_schema" bind:"nullable"`
	_      struct{}        `bind:"open"`
}
