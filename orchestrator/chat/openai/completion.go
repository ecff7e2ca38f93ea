package openai

import "encoding/json"

// Completion is the whole answer.
type Completion struct {
	ID             string    `json:"id"`     // "chatcmpl-…"
	Object         string    `json:"object"` // "chat.completion"
	Created        int64     `json:"created"`
	Model          string    `json:"model"`
	Choices        []Choice  `json:"choices"`
	Usage          *Usage    `json:"usage"`           // null when tokens cannot be counted
	PromptLogprobs *struct{} `json:"prompt_logprobs"` // always null
	// MaxTokens is the most tokens of each choice, where fewer fit than were asked for.
	MaxTokens int `json:"max_tokens,omitzero"`
}

// Choice is one answer.
type Choice struct {
	Index        int            `json:"index"`
	Message      Written        `json:"message"`
	Logprobs     *TokenLogprobs `json:"logprobs"`
	FinishReason string         `json:"finish_reason"` // "stop", "length" or "tool_calls"
	StopReason   *string        `json:"stop_reason"`   // the stop string that was met
}

// Written is what the model wrote: a text, or calls of tools in its place.
type Written struct {
	Role      string     `json:"role"`    // "assistant"
	Content   string     `json:"content"` // null with tool calls
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
}

// MarshalJSON writes null for the content of a message that calls tools.
func (w Written) MarshalJSON() ([]byte, error) {
	type plain Written
	if len(w.ToolCalls) == 0 {
		return json.Marshal(plain(w))
	}
	return json.Marshal(struct {
		plain
		Content *string `json:"content"`
	}{plain: plain(w)})
}

// Usage counts tokens, special ones included.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	TotalTokens      int `json:"total_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// Chunk is one event of a streamed answer. The last one may have no choices and the usage.
type Chunk struct {
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
	Role      string      `json:"role,omitzero"`
	Content   *string     `json:"content,omitzero"`
	ToolCalls []CallDelta `json:"tool_calls,omitempty"`
}

// CallDelta is what is new of one tool call; the first one has its id and name.
type CallDelta struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitzero"`
	Type     string        `json:"type,omitzero"`
	Function FunctionDelta `json:"function"`
}

// FunctionDelta is a function's name, or more of its arguments.
type FunctionDelta struct {
	Name      string `json:"name,omitzero"`
	Arguments string `json:"arguments"`
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
