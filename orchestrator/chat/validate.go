package chat

import (
	"fmt"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/fault"
)

// Refuse returns an Invalid fault without a rule, so that clients see its message without the field in front. The
// message is a sentence in vLLM's style.
func Refuse(path []any, format string, args ...any) *fault.Error {
	return &fault.Error{Kind: fault.Invalid, Path: path, Message: fmt.Sprintf(format, args...)}
}

// Refuser returns a function that adds a Refuse of a field to problems if a condition holds.
func Refuser(problems *fault.Problems) func(refused bool, field, format string, args ...any) {
	return func(refused bool, field, format string, args ...any) {
		if refused {
			problems.Add(Refuse([]any{field}, format, args...))
		}
	}
}

// CheckContent refuses images outside user messages, and empty user messages.
func CheckContent(role string, parts []Part) *fault.Error {
	empty := true
	for i, p := range parts {
		empty = empty && p.Image == nil && p.Text == "" && p.Result == nil
		if p.Image != nil && role != "user" {
			return Refuse([]any{"content", i},
				"images are accepted in messages of role \"user\" only, not %q", role)
		}
	}
	if empty && role == "user" {
		return fault.Field("string_too_short", nil, []any{"content"},
			"The message has no content: a text or an image is needed")
	}
	return nil
}

// CheckSampling checks settings against vLLM's bounds. It returns a fault in vLLM's words, or nil, for each bound.
func CheckSampling(s engine.Sampling) []*fault.Error {
	return []*fault.Error{
		AtLeast(s.MaxTokens, 1, "max_tokens"),
		AtLeast(&s.N, 1, "n"),
		AtLeast(s.MinTokens, 0, "min_tokens"),
		within(s.TopP, "top_p", "(0, 1]", func(v float64) bool { return v > 0 && v <= 1 }),
		within(s.MinP, "min_p", "[0, 1]", func(v float64) bool { return v >= 0 && v <= 1 }),
		within(s.PresencePenalty, "presence_penalty", "[-2, 2]", func(v float64) bool { return v >= -2 && v <= 2 }),
		within(s.FrequencyPenalty, "frequency_penalty", "[-2, 2]", func(v float64) bool { return v >= -2 && v <= 2 }),
		within(s.RepetitionPenalty, "repetition_penalty", "(0, 2]", func(v float64) bool { return v > 0 && v <= 2 }),
		checkTemperature(&s),
		checkTopK(s.TopK),
		checkMinTokens(&s),
	}
}

func checkTemperature(s *engine.Sampling) *fault.Error {
	switch t := s.Temperature; {
	case t == nil:
	case *t < 0:
		return Refuse([]any{"temperature"}, "temperature must be non-negative, got %v.", *t)
	case *t == 0 && s.N > 1:
		return Refuse([]any{"n"}, "n must be 1 when using greedy sampling, got %d.", s.N)
	}
	return nil
}

func checkTopK(k *int) *fault.Error {
	if k == nil || *k >= -1 {
		return nil
	}
	return Refuse([]any{"top_k"}, "top_k must be -1 (disable), or at least 1, got %d.", *k)
}

func checkMinTokens(s *engine.Sampling) *fault.Error {
	if s.MinTokens == nil || s.MaxTokens == nil || *s.MinTokens <= *s.MaxTokens {
		return nil
	}
	return Refuse([]any{"min_tokens"},
		"min_tokens must be less than or equal to max_tokens=%d, got %d.", *s.MaxTokens, *s.MinTokens)
}

// AtLeast refuses a setting below a lower bound. A nil setting passes.
func AtLeast(value *int, lower int, name string) *fault.Error {
	if value == nil || *value >= lower {
		return nil
	}
	return Refuse([]any{name}, "%s must be at least %d, got %d.", name, lower, *value)
}

func within(value *float64, name, bounds string, isWithin func(float64) bool) *fault.Error {
	if value == nil || isWithin(*value) {
		return nil
	}
	return Refuse([]any{name}, "%s must be in %s, got %v.", name, bounds, *value)
}
