package openai

import (
	"encoding/json"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
)

// Validate checks what needs no model to be known.
func (r *Request) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Text(r.Model, "model"), fault.NotEmpty(len(r.Messages), "messages"))
	problems.AddEach(len(r.Messages), func(i int) *fault.Error {
		if f := r.Messages[i].check(); f != nil {
			return f.Under("messages", i)
		}
		return nil
	})
	r.checkSampling(&problems)
	r.checkUnsupported(&problems)
	if r.StreamOptions != nil && !r.Streams() {
		problems.Add(chat.Refuse(nil, []any{"stream_options"}, "Stream options can only be defined when `stream=True`."))
	}
	if isTrue(r.ContinueFinalMessage) && (r.AddGenerationPrompt == nil || *r.AddGenerationPrompt) {
		problems.Add(chat.Refuse(nil, []any{"continue_final_message"},
			"Cannot set both `continue_final_message` and `add_generation_prompt` to True."))
	}
	return problems.Err()
}

func (r *Request) checkSampling(problems *fault.Problems) {
	if r.MaxCompletionTokens != nil { // else max_tokens is among the settings
		problems.Add(chat.AtLeast(r.MaxTokens, 1, "max_tokens"))
	}
	checkSettings(problems, r)
	problems.Add(r.checkLogprobs(), r.Stop.Check())
}

func checkSettings(problems *fault.Problems, r *Request) {
	sampling := r.sampling()
	chat.CheckSampling(problems.Add, &sampling)
}

func (r *Request) checkLogprobs() *fault.Error {
	switch top := r.TopLogprobs; {
	case top == nil || *top == 0 && !isTrue(r.Logprobs):
		return nil
	case *top < 0 || *top > 20:
		return chat.Refuse(*top, []any{"top_logprobs"}, "`top_logprobs` must be between 0 and 20, got %d.", *top)
	case !isTrue(r.Logprobs):
		return chat.Refuse(*top, []any{"top_logprobs"}, "when using `top_logprobs`, `logprobs` must be set to true.")
	}
	return nil
}

// roles of messages.
var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

func (m *Message) check() *fault.Error {
	switch {
	case len(m.ToolCalls) > 0 && m.Role != "assistant":
		return chat.Refuse(nil, []any{"tool_calls"}, "tool calls are taken in messages of role \"assistant\" only, not %q", m.Role)
	case given(m.Function):
		return chat.Refuse(nil, []any{"function_call"}, "function_call is not supported: use tool_calls")
	case given(m.Audio):
		return chat.Refuse(nil, []any{"audio"}, "audio is not supported by this service")
	}
	if f := fault.OneOf(m.Role, roles, "role"); f != nil {
		return f
	}
	return chat.CheckContent(m.Role, m.Content)
}

// given reports whether a member is there with a value other than null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
