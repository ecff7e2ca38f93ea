package openai

import (
	"encoding/json"
	"slices"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
)

// Validate checks all bounds that do not depend on the model.
func (r *ChatRequest) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Text(r.Model, "model"), fault.NotEmpty(len(r.Messages), "messages"))
	problems.AddEach(len(r.Messages), func(i int) *fault.Error {
		if f := r.Messages[i].check(); f != nil {
			return f.Under("messages", i)
		}
		return nil
	})
	if r.MaxCompletionTokens != nil { // otherwise CheckSampling checks max_tokens
		problems.Add(chat.AtLeast(r.MaxTokens, 1, "max_tokens"))
	}
	problems.Add(chat.CheckSampling(r.sampling())...)
	problems.Add(r.checkLogprobs(), r.Stop.Check())
	r.checkUnsupported(&problems)
	refuseIf := chat.Refuser(&problems)
	refuseIf(r.StreamOptions != nil && !r.Streams(), "stream_options", streamOptionsAlone)
	refuseIf(isTrue(r.ContinueFinalMessage) && (r.AddGenerationPrompt == nil || *r.AddGenerationPrompt),
		"continue_final_message", continuesAndAnswers)
	return problems.Err()
}

func (r *ChatRequest) checkLogprobs() *fault.Error {
	path := []any{"top_logprobs"}
	switch top := r.TopLogprobs; {
	case top == nil || *top == 0 && !isTrue(r.Logprobs):
		return nil
	case *top < 0 || *top > 20:
		return chat.Refuse(path, "`top_logprobs` must be between 0 and 20, got %d.", *top)
	case !isTrue(r.Logprobs):
		return chat.Refuse(path, "when using `top_logprobs`, `logprobs` must be set to true.")
	}
	return nil
}

var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

func (m *Message) check() *fault.Error {
	switch {
	case len(m.ToolCalls) > 0 && m.Role != "assistant":
		return chat.Refuse([]any{"tool_calls"},
			"tool calls are accepted in messages of role \"assistant\" only, not %q", m.Role)
	case chat.IsSet(m.FunctionCall):
		return chat.Refuse([]any{"function_call"}, "function_call is not supported: use tool_calls")
	case chat.IsSet(m.Audio):
		return chat.Refuse([]any{"audio"}, unsupported, "audio")
	}
	if f := fault.OneOf(m.Role, roles, "role"); f != nil {
		return f
	}
	for i, call := range m.ToolCalls {
		if f := fault.Text(call.Function.Name, "tool_calls", i, "function", "name"); f != nil {
			return f
		}
	}
	return chat.CheckContent(m.Role, m.Content)
}

// Messages that several requests share.
const (
	unsupported         = "%s is not supported by this service"
	continuesAndAnswers = "Cannot set both `continue_final_message` and `add_generation_prompt` to True."
	streamOptionsAlone  = "Stream options can only be defined when `stream=True`."
	toolsTooLong        = "the parameters of all tools must not be longer than %d bytes"
)

// checkUnsupported refuses members that would change the answer but are not supported.
func (r *ChatRequest) checkUnsupported(problems *fault.Problems) {
	refuseIf := chat.Refuser(problems)
	r.checkTools(problems)
	r.checkGuides(problems, r.NVExt)
	refuseIf(bool(r.LogitBias), "logit_bias", unsupported, "logit_bias")
	refuseIf(r.PromptLogprobs != nil, "prompt_logprobs", unsupported, "prompt_logprobs")
	refuseIf(isTrue(r.Echo), "echo", unsupported, "echo")
	refuseIf(r.hasBestOf(), "best_of", unsupported, "best_of")
	for _, m := range r.Modalities {
		refuseIf(m != "text", "modalities", "modality %q is not supported by this service", m)
	}
}

// hasBestOf reports whether the answers to return are to be chosen from more.
func (p *Parameters) hasBestOf() bool {
	return p.BestOf != nil && *p.BestOf > 1 && (p.N == nil || *p.BestOf != *p.N)
}

// checkTools refuses a tool_choice that is none of the tools, and tools that are not functions.
func (r *ChatRequest) checkTools(problems *fault.Problems) {
	refuseIf := chat.Refuser(problems)
	refuseIf(bool(r.Functions) || chat.IsSet(r.FunctionCall), "functions", "functions are not supported: use tools")
	choice, name := readChoice(r.ToolChoice)
	switch choice {
	case "none", "auto":
	case "required":
		refuseIf(len(r.Tools) == 0, "tool_choice", "tool_choice %q needs tools", choice)
	case "function":
		exists := slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Function.Name == name })
		refuseIf(!exists, "tool_choice", "tool_choice names %q, which is none of the tools", fault.Clip(name))
	default:
		refuseIf(true, "tool_choice", "tool_choice = %s is not supported!", fault.Clip(string(r.ToolChoice)))
	}
	size := 0
	for _, t := range r.Tools {
		size += len(t.Function.Parameters)
	}
	refuseIf(size > maxGuideBytes, "tools", toolsTooLong, maxGuideBytes)
	for i, t := range r.Tools {
		refuseIf(choice != "none" && (t.Type != "function" || t.Function.Name == ""), "tools",
			"tools[%d] is not a function with a name, and no other tools are supported", i)
	}
}

// checkGuides refuses a malformed guide, and more than one.
func (p *Parameters) checkGuides(problems *fault.Problems, nvext json.RawMessage) {
	guides, problem := p.guides(nvext)
	problems.Add(problem)
	if problem == nil && len(guides) > 1 {
		problems.Add(chat.Refuse([]any{guides[1].Field},
			"only one constraint on the answer is allowed, not both %s and %s", guides[0].Field, guides[1].Field))
	}
}
