package openai

import (
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
)

// Completion is the response of POST /v1/chat/completions.
type Completion struct {
	ID             string    `json:"id"`     // "chatcmpl-…"
	Object         string    `json:"object"` // "chat.completion"
	Created        int64     `json:"created"`
	Model          string    `json:"model"`
	Choices        []Choice  `json:"choices"`
	Usage          *Usage    `json:"usage"`           // null if tokens cannot be counted
	PromptLogprobs *struct{} `json:"prompt_logprobs"` // always null
	// MaxTokens is the maximum length of each choice if the requested one did not fit.
	MaxTokens int `json:"max_tokens,omitzero"`
}

// Choice is one answer.
type Choice struct {
	Index        int              `json:"index"`
	Message      AssistantMessage `json:"message"`
	Logprobs     *TokenLogprobs   `json:"logprobs"`
	FinishReason string           `json:"finish_reason"` // "stop", "length" or "tool_calls"
	StopReason   *string          `json:"stop_reason"`   // the stop string that ended the answer
}

// AssistantMessage is the model's answer: a text or tool calls.
type AssistantMessage struct {
	Role      string     `json:"role"`    // "assistant"
	Content   *string    `json:"content"` // null with tool calls
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
}

// Usage counts tokens, special tokens included.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	TotalTokens      int `json:"total_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// Chunk is one event of a streamed answer. The last one may have the usage and no choices.
type Chunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"` // "chat.completion.chunk"
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []ChunkChoice `json:"choices"`
	Usage   *Usage        `json:"usage,omitzero"`
}

// ChunkChoice is the new text of one choice.
type ChunkChoice struct {
	Index        int            `json:"index"`
	Delta        Delta          `json:"delta"`
	Logprobs     *TokenLogprobs `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
	StopReason   **string       `json:"stop_reason,omitzero"` // a stop string or null, with the finish reason only
}

// Delta is new text or part of a tool call. The first one of a choice has the role.
type Delta struct {
	Role      string      `json:"role,omitzero"`
	Content   *string     `json:"content,omitzero"`
	ToolCalls []CallDelta `json:"tool_calls,omitempty"`
}

// CallDelta is part of a tool call. The first one has its id and name.
type CallDelta struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitzero"`
	Type     string        `json:"type,omitzero"`
	Function FunctionDelta `json:"function"`
}

// FunctionDelta is a function's name or the next part of its arguments.
type FunctionDelta struct {
	Name      string `json:"name,omitzero"`
	Arguments string `json:"arguments"`
}

// TokenLogprobs are the log probabilities of an answer's tokens.
type TokenLogprobs struct {
	Content []TokenLogprob `json:"content"`
}

// TokenLogprob is one token of an answer and the likeliest tokens in its place.
type TokenLogprob struct {
	TopLogprob
	TopLogprobs []TopLogprob `json:"top_logprobs"`
}

// TopLogprob is a token with its natural log probability.
type TopLogprob struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // of the token in UTF-8
}

// usageOf returns the usage of an answer, or nil (null) if tokens cannot be counted.
func usageOf(a *chat.Answer) *Usage {
	u, known := a.Usage()
	if !known {
		return nil
	}
	return &Usage{PromptTokens: u.Prompt, CompletionTokens: u.Completion, TotalTokens: u.Prompt + u.Completion}
}

// plus returns the sum of u, which may be nil, and other, or nil if other is unknown.
func (u *Usage) plus(other *Usage) *Usage {
	if u == nil || other == nil {
		return other
	}
	return &Usage{
		PromptTokens:     u.PromptTokens + other.PromptTokens,
		CompletionTokens: u.CompletionTokens + other.CompletionTokens,
		TotalTokens:      u.TotalTokens + other.TotalTokens,
	}
}

// appendLogprobs appends log probabilities to those of an answer, which are nil if there are none.
func appendLogprobs(to *TokenLogprobs, logprobs []engine.Logprob) *TokenLogprobs {
	if len(logprobs) == 0 {
		return to
	}
	if to == nil {
		to = &TokenLogprobs{}
	}
	for _, l := range logprobs {
		token := TokenLogprob{TopLogprob: topLogprob(l), TopLogprobs: []TopLogprob{}}
		for _, other := range l.Top {
			token.TopLogprobs = append(token.TopLogprobs, topLogprob(other))
		}
		to.Content = append(to.Content, token)
	}
	return to
}

func topLogprob(l engine.Logprob) TopLogprob {
	bytes := make([]int, len(l.Token))
	for i := range len(l.Token) {
		bytes[i] = int(l.Token[i])
	}
	return TopLogprob{l.Token, l.Finite(), bytes}
}
