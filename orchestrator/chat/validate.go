package chat

import (
	"fmt"
	"strings"

	"retort/orchestrator/fault"
)

// refuse is an Invalid fault in the words of vLLM.
func refuse(input any, path []any, format string, args ...any) *fault.Error {
	return &fault.Error{Kind: fault.Invalid, Path: path, Input: input, Message: fmt.Sprintf(format, args...)}
}

// Validate checks what needs no model to be known.
func (r *CompletionRequest) Validate() error {
	checks := []*fault.Error{fault.Text(r.Model, "model"), fault.NotEmpty(len(r.Messages), "messages")}
	for i, m := range r.Messages {
		checks = append(checks, m.validate().at("messages", i))
	}
	checks = append(checks, r.sampling()...)
	checks = append(checks, r.unsupported()...)
	if r.StreamOptions != nil && !r.Streams() {
		checks = append(checks, refuse(nil, []any{"stream_options"}, "Stream options can only be defined when `stream=True`."))
	}
	if isTrue(r.ContinueFinalMessage) && (r.AddGenerationPrompt == nil || *r.AddGenerationPrompt) {
		checks = append(checks, refuse(nil, []any{"continue_final_message"},
			"Cannot set both `continue_final_message` and `add_generation_prompt` to True."))
	}
	return fault.Join(checks...)
}

// problem is a fault that may be nil.
type problem struct{ *fault.Error }

func (p problem) at(steps ...any) *fault.Error {
	if p.Error == nil {
		return nil
	}
	return p.Under(steps...)
}

// roles of messages. Tools are not served, so nor are the roles that carry
// what they return.
var roles = []string{"system", "developer", "user", "assistant"}

func (m CompletionMessage) validate() problem {
	switch {
	case m.Role == "tool" || m.Role == "function":
		return problem{refuse(m.Role, []any{"role"}, "messages of role %q are not supported: this service calls no tools", m.Role)}
	case len(m.ToolCalls) > 0 || given(m.Function):
		return problem{refuse(nil, []any{"tool_calls"}, "tool calls are not supported by this service")}
	case given(m.Audio):
		return problem{refuse(nil, []any{"audio"}, "audio is not supported by this service")}
	}
	if f := fault.OneOf(m.Role, roles, "role"); f != nil {
		return problem{f}
	}
	return problem{content(m.Role, m.Content)}
}

// content checks the parts of a message: images come from users, and a user
// says something.
func content(role string, parts []Part) *fault.Error {
	empty := true
	for i, p := range parts {
		empty = empty && p.Image == nil && p.Text == ""
		if p.Image != nil && role != "user" {
			return refuse(nil, []any{"content", i}, "images are taken in messages of role \"user\" only, not %q", role)
		}
	}
	if empty && role == "user" {
		return fault.Field("string_too_short", nil, []any{"content"}, "The message has no content: a text or an image is needed")
	}
	return nil
}

// sampling are vLLM's bounds in its words.
func (r *CompletionRequest) sampling() []*fault.Error {
	most := r.MaxTokens
	checks := []*fault.Error{atLeast(r.MaxTokens, 1, "max_tokens"), atLeast(r.MaxCompletionTokens, 1, "max_tokens")}
	if r.MaxCompletionTokens != nil {
		most = r.MaxCompletionTokens
	}
	checks = append(checks,
		atLeast(r.N, 1, "n"), atLeast(r.MinTokens, 0, "min_tokens"),
		inside(r.TopP, "top_p", "(0, 1]", func(v float64) bool { return v > 0 && v <= 1 }),
		inside(r.MinP, "min_p", "[0, 1]", func(v float64) bool { return v >= 0 && v <= 1 }),
		inside(r.PresencePenalty, "presence_penalty", "[-2, 2]", func(v float64) bool { return v >= -2 && v <= 2 }),
		inside(r.FrequencyPenalty, "frequency_penalty", "[-2, 2]", func(v float64) bool { return v >= -2 && v <= 2 }),
		inside(r.RepetitionPenalty, "repetition_penalty", "(0, 2]", func(v float64) bool { return v > 0 && v <= 2 }),
	)
	switch greedy := r.Temperature != nil && *r.Temperature == 0; {
	case r.Temperature != nil && *r.Temperature < 0:
		checks = append(checks, refuse(*r.Temperature, []any{"temperature"}, "temperature must be non-negative, got %v.", *r.Temperature))
	case greedy && r.N != nil && *r.N > 1:
		checks = append(checks, refuse(*r.N, []any{"n"}, "n must be 1 when using greedy sampling, got %d.", *r.N))
	}
	if r.TopK != nil && *r.TopK < -1 {
		checks = append(checks, refuse(*r.TopK, []any{"top_k"}, "top_k must be -1 (disable), or at least 1, got %d.", *r.TopK))
	}
	if r.MinTokens != nil && most != nil && *r.MinTokens > *most {
		checks = append(checks, refuse(*r.MinTokens, []any{"min_tokens"}, "min_tokens must be less than or equal to max_tokens=%d, got %d.", *most, *r.MinTokens))
	}
	return append(append(checks, r.logprobs()), stops(r.Stop))
}

func atLeast(value *int, least int, name string) *fault.Error {
	if value == nil || *value >= least {
		return nil
	}
	return refuse(*value, []any{name}, "%s must be at least %d, got %d.", name, least, *value)
}

func inside(value *float64, name, bounds string, fits func(float64) bool) *fault.Error {
	if value == nil || fits(*value) {
		return nil
	}
	return refuse(*value, []any{name}, "%s must be in %s, got %v.", name, bounds, *value)
}

func (r *CompletionRequest) logprobs() *fault.Error {
	switch top := r.TopLogprobs; {
	case top == nil || *top == 0 && !isTrue(r.Logprobs):
		return nil
	case *top < 0 || *top > 20:
		return refuse(*top, []any{"top_logprobs"}, "`top_logprobs` must be between 0 and 20, got %d.", *top)
	case !isTrue(r.Logprobs):
		return refuse(*top, []any{"top_logprobs"}, "when using `top_logprobs`, `logprobs` must be set to true.")
	}
	return nil
}

// stops bounds the stop strings: looking for them costs time for each token.
func stops(all []string) *fault.Error {
	const most, longest = 16, 1024
	if f := fault.Items(len(all), 0, most, "stop"); f != nil {
		return f
	}
	for i, stop := range all {
		switch {
		case stop == "":
			return refuse(stop, []any{"stop", i}, "stop cannot contain an empty string.")
		case len(stop) > longest:
			return refuse(nil, []any{"stop", i}, "a stop string must not be longer than %d bytes.", longest)
		}
	}
	return nil
}

// unsupported refuses what would change the answer and cannot be done, in
// place of ignoring it.
func (r *CompletionRequest) unsupported() (found []*fault.Error) {
	no := func(asked bool, name, format string, args ...any) {
		if asked {
			found = append(found, refuse(nil, []any{name}, format, args...))
		}
	}
	choice := strings.Trim(string(r.ToolChoice), `"`)
	switch {
	case choice == "none" || choice == "auto" && len(r.Tools) == 0:
	case choice == "" || choice == "null" || choice == "auto":
		no(len(r.Tools) > 0, "tool_choice", "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set")
	default:
		no(true, "tool_choice", "tool_choice = %s is not supported!", r.ToolChoice)
	}
	no(len(r.Functions) > 0 || given(r.FunctionCall), "functions", "functions are not supported: this service calls no tools")
	if f := r.ResponseFormat; f != nil {
		no(f.Type != "text", "response_format", "response_format %q is not supported: guided decoding is not enabled for this service", f.Type)
	}
	guided := map[string]bool{
		"guided_json": given(r.GuidedJSON), "guided_regex": given(r.GuidedRegex), "guided_choice": given(r.GuidedChoice),
		"guided_grammar": given(r.GuidedGrammar), "structured_outputs": given(r.StructuredOutputs),
		"nvext": given(r.NVExt) && string(r.NVExt) != "{}",
	}
	for _, name := range []string{"guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "nvext"} {
		no(guided[name], name, "%s is not supported: guided decoding is not enabled for this service", name)
	}
	no(len(r.LogitBias) > 0, "logit_bias", "logit_bias is not supported by this service")
	no(r.PromptLogprobs != nil, "prompt_logprobs", "prompt_logprobs is not supported by this service")
	no(isTrue(r.Echo), "echo", "echo is not supported by this service")
	no(r.BestOf != nil && *r.BestOf > 1 && (r.N == nil || *r.BestOf != *r.N), "best_of", "best_of is not supported by this service")
	for _, m := range r.Modalities {
		no(m != "text", "modalities", "modality %q is not supported by this service", m)
	}
	return found
}
