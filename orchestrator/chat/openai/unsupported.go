package openai

import (
	"slices"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
)

// checkUnsupported refuses what would change the answer and cannot be done, in place of ignoring it.
func (r *Request) checkUnsupported(problems *fault.Problems) {
	refuse := func(asked bool, name, format string, args ...any) {
		if asked {
			problems.Add(chat.Refuse(nil, []any{name}, format, args...))
		}
	}
	r.checkTools(refuse)
	r.checkForm(problems)
	refuse(bool(r.LogitBias), "logit_bias", "logit_bias is not supported by this service")
	refuse(r.PromptLogprobs != nil, "prompt_logprobs", "prompt_logprobs is not supported by this service")
	refuse(isTrue(r.Echo), "echo", "echo is not supported by this service")
	bestOf := r.BestOf != nil && *r.BestOf > 1 && (r.N == nil || *r.BestOf != *r.N)
	refuse(bestOf, "best_of", "best_of is not supported by this service")
	for _, m := range r.Modalities {
		refuse(m != "text", "modalities", "modality %q is not supported by this service", m)
	}
}

// checkTools refuses what is no choice among the tools.
func (r *Request) checkTools(refuse func(asked bool, name, format string, args ...any)) {
	refuse(bool(r.Functions) || given(r.FunctionCall), "functions", "functions are not supported: use tools")
	choice, name := readChoice(r.ToolChoice)
	switch choice {
	case "none", "auto":
	case "required":
		refuse(len(r.Tools) == 0, "tool_choice", "tool_choice %q needs tools", choice)
	case "function":
		known := slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Function.Name == name })
		refuse(!known, "tool_choice", "tool_choice names %q, which is none of the tools", fault.Clip(name))
	default:
		refuse(true, "tool_choice", "tool_choice = %s is not supported!", fault.Clip(string(r.ToolChoice)))
	}
	size := 0
	for _, t := range r.Tools {
		size += len(t.Function.Parameters)
	}
	refuse(size > maxForm, "tools", "the parameters of all tools must not be longer than %d bytes", maxForm)
	for i, t := range r.Tools {
		unfit := choice != "none" && (t.Type != "function" || t.Function.Name == "")
		refuse(unfit, "tools", "tools[%d] is no function with a name, and no other tools are known", i)
	}
}

// checkForm refuses a form of the answer that is none, and two forms at once.
func (r *Request) checkForm(problems *fault.Problems) {
	forms, err := r.forms()
	problems.Add(err)
	if err == nil && len(forms) > 1 {
		problems.Add(chat.Refuse(nil, []any{forms[1].Field}, "only one form of the answer can be asked for, not both %s and %s", forms[0].Field, forms[1].Field))
	}
}
