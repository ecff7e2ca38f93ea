package openai

import (
	"encoding/json"

	"retort/orchestrator/chat"
	"retort/orchestrator/wire"
)

// TextRequest is the body of POST /v1/completions: prompts that the model continues, without a chat template.
type TextRequest struct {
	Model string `json:"model" bind:"required"`
	// Prompt is one text or several; each gets N answers.
	Prompt wire.Strings `json:"prompt" bind:"required"`
	Suffix *string      `json:"suffix"`
	// MaxTokens bounds each answer; default 16.
	MaxTokens *int  `json:"max_tokens"`
	MinTokens *int  `json:"min_tokens"`
	N         *int  `json:"n"`
	BestOf    *int  `json:"best_of"`
	Echo      *bool `json:"echo"` // prepends the prompt to the answer

	Temperature       *float64 `json:"temperature"`
	TopP              *float64 `json:"top_p"`
	TopK              *int     `json:"top_k"`
	MinP              *float64 `json:"min_p"`
	PresencePenalty   *float64 `json:"presence_penalty"`
	FrequencyPenalty  *float64 `json:"frequency_penalty"`
	RepetitionPenalty *float64 `json:"repetition_penalty"`
	Seed              *int64   `json:"seed"`

	Stop              chat.StopStrings `json:"stop"`
	StopTokenIDs      []int            `json:"stop_token_ids"`
	IgnoreEOS         *bool            `json:"ignore_eos"`
	IncludeStop       *bool            `json:"include_stop_str_in_output"`
	SkipSpecialTokens *bool            `json:"skip_special_tokens"`

	Logprobs      *int           `json:"logprobs"` // 0 to 20 alternatives to each token
	Stream        *bool          `json:"stream"`
	StreamOptions *StreamOptions `json:"stream_options"`

	ResponseFormat    *ResponseFormat     `json:"response_format"`
	GuidedJSON        json.RawMessage     `json:"guided_json"`
	GuidedRegex       json.RawMessage     `json:"guided_regex"`
	GuidedChoice      json.RawMessage     `json:"guided_choice"`
	GuidedGrammar     json.RawMessage     `json:"guided_grammar"`
	StructuredOutputs json.RawMessage     `json:"structured_outputs"`
	LogitBias         chat.NonEmptyObject `json:"logit_bias"`

	// Accepted and ignored.
	User     json.RawMessage `json:"user"`
	Metadata json.RawMessage `json:"metadata"`
}

// TextCompletion is the response of POST /v1/completions, and one event of its stream.
type TextCompletion struct {
	ID      string       `json:"id"`     // "cmpl-…"
	Object  string       `json:"object"` // "text_completion"
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []TextChoice `json:"choices"` // of all prompts: N of the first, N of the second, …
	Usage   *Usage       `json:"usage,omitzero"`
	// MaxTokens is the maximum length of each choice if the requested one did not fit.
	MaxTokens int `json:"max_tokens,omitzero"`
}

// TextChoice is one choice, or in a stream its new text.
type TextChoice struct {
	Index        int           `json:"index"`
	Text         string        `json:"text"`
	Logprobs     *TextLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"` // "stop" or "length"
	StopReason   *string       `json:"stop_reason"`   // the stop string that ended the answer
}

// TextLogprobs are the log probabilities of an answer's tokens. Each list has one element for each token.
type TextLogprobs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []float64            `json:"token_logprobs"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"` // in characters from the start of the answer
}
