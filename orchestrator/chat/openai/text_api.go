package openai

import "retort/orchestrator/wire"

// TextRequest is the body of POST /v1/completions: prompts that the model continues, without a chat template.
type TextRequest struct {
	Parameters
	Prompt   wire.Strings `json:"prompt" bind:"required"` // one text or several; each gets N answers
	Suffix   *string      `json:"suffix"`                 // refused
	Logprobs *int         `json:"logprobs"`               // 0 to 20 alternatives to each token
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

	PromptLogprobs *struct{} `json:"prompt_logprobs"` // always null
}

// TextLogprobs are the log probabilities of an answer's tokens. Each list has one element for each token.
type TextLogprobs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []float64            `json:"token_logprobs"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"` // in characters from the start of the answer
}
