package chat

import "encoding/json"

// CompletionRequest is the body of POST /v1/chat/completions.
type CompletionRequest struct {
	Model    string              `json:"model" bind:"required"`
	Messages []CompletionMessage `json:"messages" bind:"required"`

	// MaxTokens bounds each answer; MaxCompletionTokens is its newer name and
	// wins. Neither: as many as fit.
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

	Stop              Stops `json:"stop" bind:"nullable"`
	StopTokenIDs      []int `json:"stop_token_ids" bind:"nullable"`
	IgnoreEOS         *bool `json:"ignore_eos" bind:"nullable"`
	IncludeStop       *bool `json:"include_stop_str_in_output" bind:"nullable"`
	SkipSpecialTokens *bool `json:"skip_special_tokens" bind:"nullable"`

	Logprobs    *bool `json:"logprobs" bind:"nullable"`
	TopLogprobs *int  `json:"top_logprobs" bind:"nullable"` // 0 to 20

	Stream        *bool          `json:"stream" bind:"nullable"`
	StreamOptions *StreamOptions `json:"stream_options" bind:"nullable"`

	AddGenerationPrompt  *bool `json:"add_generation_prompt" bind:"nullable"`
	ContinueFinalMessage *bool `json:"continue_final_message" bind:"nullable"`

	// What this service cannot do is refused where it would change the answer.
	Tools             []json.RawMessage `json:"tools" bind:"nullable"`
	ToolChoice        json.RawMessage   `json:"tool_choice" bind:"nullable"`
	Functions         []json.RawMessage `json:"functions" bind:"nullable"`
	FunctionCall      json.RawMessage   `json:"function_call" bind:"nullable"`
	ResponseFormat    *ResponseFormat   `json:"response_format" bind:"nullable"`
	GuidedJSON        json.RawMessage   `json:"guided_json" bind:"nullable"`
	GuidedRegex       json.RawMessage   `json:"guided_regex" bind:"nullable"`
	GuidedChoice      json.RawMessage   `json:"guided_choice" bind:"nullable"`
	GuidedGrammar     json.RawMessage   `json:"guided_grammar" bind:"nullable"`
	StructuredOutputs json.RawMessage   `json:"structured_outputs" bind:"nullable"`
	NVExt             json.RawMessage   `json:"nvext" bind:"nullable"`
	LogitBias         map[string]any    `json:"logit_bias" bind:"nullable"`
	PromptLogprobs    *int              `json:"prompt_logprobs" bind:"nullable"`
	Echo              *bool             `json:"echo" bind:"nullable"`
	Modalities        []string          `json:"modalities" bind:"nullable"`

	// Accepted and ignored: they concern nothing that this service has.
	User              json.RawMessage `json:"user" bind:"nullable"`
	Metadata          json.RawMessage `json:"metadata" bind:"nullable"`
	Store             json.RawMessage `json:"store" bind:"nullable"`
	ServiceTier       json.RawMessage `json:"service_tier" bind:"nullable"`
	ParallelToolCalls json.RawMessage `json:"parallel_tool_calls" bind:"nullable"`
	PromptCacheKey    json.RawMessage `json:"prompt_cache_key" bind:"nullable"`
	SafetyIdentifier  json.RawMessage `json:"safety_identifier" bind:"nullable"`
}

// CompletionMessage is one turn. Roles: system (or developer), user,
// assistant.
type CompletionMessage struct {
	Role      string            `json:"role" bind:"required"`
	Content   Content           `json:"content" bind:"nullable"`
	Name      *string           `json:"name" bind:"nullable"`      // ignored
	Refusal   json.RawMessage   `json:"refusal" bind:"nullable"`   // of an answer sent back; ignored
	Reasoning json.RawMessage   `json:"reasoning" bind:"nullable"` // likewise
	Thinking  json.RawMessage   `json:"reasoning_content" bind:"nullable"`
	Audio     json.RawMessage   `json:"audio" bind:"nullable"`
	Notes     json.RawMessage   `json:"annotations" bind:"nullable"`
	Function  json.RawMessage   `json:"function_call" bind:"nullable"`
	ToolCalls []json.RawMessage `json:"tool_calls" bind:"nullable"` // refused unless empty
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

// Completion is the whole answer.
type Completion struct {
	ID             string             `json:"id"`     // "chatcmpl-…"
	Object         string             `json:"object"` // "chat.completion"
	Created        int64              `json:"created"`
	Model          string             `json:"model"`
	Choices        []CompletionChoice `json:"choices"`
	Usage          *Usage             `json:"usage"`           // null when tokens cannot be counted
	PromptLogprobs *struct{}          `json:"prompt_logprobs"` // always null
}

// CompletionChoice is one answer.
type CompletionChoice struct {
	Index        int              `json:"index"`
	Message      AssistantMessage `json:"message"`
	Logprobs     *TokenLogprobs   `json:"logprobs"`
	FinishReason string           `json:"finish_reason"` // "stop" or "length"
	StopReason   *string          `json:"stop_reason"`   // the stop string that was met
}

// AssistantMessage is what the model wrote.
type AssistantMessage struct {
	Role    string `json:"role"` // "assistant"
	Content string `json:"content"`
}

// Usage counts tokens, special ones included.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	TotalTokens      int `json:"total_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// CompletionChunk is one event of a streamed answer. The last one may have no
// choices and the usage.
type CompletionChunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"` // "chat.completion.chunk"
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []ChunkChoice `json:"choices"`
	Usage   *Usage        `json:"usage,omitzero"`
}

// ChunkChoice is what is new of one answer.
type ChunkChoice struct {
	Index        int            `json:"index"`
	Delta        Delta          `json:"delta"`
	Logprobs     *TokenLogprobs `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
	StopReason   *StopReason    `json:"stop_reason,omitzero"` // with the finish reason
}

// Delta is new text; the first one of a choice has the role.
type Delta struct {
	Role    string  `json:"role,omitzero"`
	Content *string `json:"content,omitzero"`
}

// StopReason is a stop string or null.
type StopReason struct{ Text *string }

// MarshalJSON writes the string or null.
func (s StopReason) MarshalJSON() ([]byte, error) { return json.Marshal(s.Text) }

// TokenLogprobs are the log probabilities of an answer's tokens.
type TokenLogprobs struct {
	Content []TokenLogprob `json:"content"`
}

// TokenLogprob is one token that was written.
type TokenLogprob struct {
	Token       string       `json:"token"`
	Logprob     float64      `json:"logprob"`
	Bytes       []int        `json:"bytes"` // of the token in UTF-8
	TopLogprobs []TopLogprob `json:"top_logprobs"`
}

// TopLogprob is a token that might have been written in its place.
type TopLogprob struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// Models is the answer of GET /v1/models.
type Models struct {
	Object string      `json:"object"` // "list"
	Data   []ModelCard `json:"data"`
}

// ModelCard is one entry of the model list.
type ModelCard struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"` // "model"
	Created     int64        `json:"created"`
	OwnedBy     string       `json:"owned_by"`
	Root        string       `json:"root"`
	Parent      *string      `json:"parent"`
	MaxModelLen int          `json:"max_model_len"`
	Permission  []Permission `json:"permission"`
}

// Permission is what may be done with a model.
type Permission struct {
	ID                 string  `json:"id"`
	Object             string  `json:"object"` // "model_permission"
	Created            int64   `json:"created"`
	AllowCreateEngine  bool    `json:"allow_create_engine"`
	AllowSampling      bool    `json:"allow_sampling"`
	AllowLogprobs      bool    `json:"allow_logprobs"`
	AllowSearchIndices bool    `json:"allow_search_indices"`
	AllowView          bool    `json:"allow_view"`
	AllowFineTuning    bool    `json:"allow_fine_tuning"`
	Organization       string  `json:"organization"`
	Group              *string `json:"group"`
	IsBlocking         bool    `json:"is_blocking"`
}

// Health is the answer of the health endpoints.
type Health struct {
	Object  string `json:"object"` // "health.response"
	Message string `json:"message"`
}

// Error is the answer to a request that failed: flat as the service documents
// it, and nested as OpenAI's clients read it. Detail inside is where Llama
// Stack's have their text.
type Error struct {
	Object  string  `json:"object"` // "error"
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // the field to blame: messages[0].content
	Code    int     `json:"code"`  // the HTTP status
	Error   Nested  `json:"error"`
}

// Nested is the same failure once more.
type Nested struct {
	Object  string  `json:"object"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
	Detail  string  `json:"detail"`
}
