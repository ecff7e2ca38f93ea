package openai

import (
	"strings"

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
	if f := r.ResponseFormat; f != nil {
		refuse(f.Type != "text", "response_format", "response_format %q is not supported: guided decoding is not enabled for this service", f.Type)
	}
	for _, guided := range []struct {
		name  string
		asked bool
	}{
		{"guided_json", given(r.GuidedJSON)},
		{"guided_regex", given(r.GuidedRegex)},
		{"guided_choice", given(r.GuidedChoice)},
		{"guided_grammar", given(r.GuidedGrammar)},
		{"structured_outputs", given(r.StructuredOutputs)},
		{"nvext", given(r.NVExt) && string(r.NVExt) != "{}"},
	} {
		refuse(guided.asked, guided.name, "%s is not supported: guided decoding is not enabled for this service", guided.name)
	}
	refuse(bool(r.LogitBias), "logit_bias", "logit_bias is not supported by this service")
	refuse(r.PromptLogprobs != nil, "prompt_logprobs", "prompt_logprobs is not supported by this service")
	refuse(isTrue(r.Echo), "echo", "echo is not supported by this service")
	bestOf := r.BestOf != nil && *r.BestOf > 1 && (r.N == nil || *r.BestOf != *r.N)
	refuse(bestOf, "best_of", "best_of is not supported by this service")
	for _, m := range r.Modalities {
		refuse(m != "text", "modalities", "modality %q is not supported by this service", m)
	}
}

// checkTools refuses tools unless the request says that none is to be called.
func (r *Request) checkTools(refuse func(asked bool, name, format string, args ...any)) {
	choice := strings.Trim(string(r.ToolChoice), `"`)
	switch {
	case choice == "none" || choice == "auto" && !bool(r.Tools):
	case choice == "" || choice == "null" || choice == "auto":
		refuse(bool(r.Tools), "tool_choice", "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set")
	default:
		refuse(true, "tool_choice", "tool_choice = %s is not supported!", r.ToolChoice)
	}
	refuse(bool(r.Functions) || given(r.FunctionCall), "functions", "functions are not supported: this service calls no tools")
}
