package engine

// Sampling has the settings of an answer. A setting that is nil is left to the engine.
type Sampling struct {
	N                 int // number of choices
	MaxTokens         *int
	MinTokens         *int
	Temperature       *float64
	TopP              *float64
	TopK              *int
	MinP              *float64
	PresencePenalty   *float64
	FrequencyPenalty  *float64
	RepetitionPenalty *float64
	Seed              *int64
	Stop              []string
	StopTokenIDs      []int
	IgnoreEOS         *bool
	IncludeStop       bool // leave the stop string that ended an answer in its text
	SkipSpecialTokens *bool
	Logprobs          *int   // number of likeliest tokens to return with each token; nil: no log probabilities
	Guide             *Guide // nil: the answer is not constrained
}

// settingNames are all settings. The parameter sampling_parameters of a model's entry lists those that the model
// supports.
var settingNames = []string{
	"min_tokens", "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty",
	"seed", "ignore_eos", "skip_special_tokens", "stop_token_ids", "logprobs", guideSetting,
}

// settings returns the settings that are not nil, by name. Values are int, int64, float64, bool, []int or *Guide. The
// number of choices, the length of the answer and the stop strings are left out, because each contract sends them in
// its own way.
func (s *Sampling) settings() map[string]any {
	all := map[string]any{}
	add(all, "min_tokens", s.MinTokens)
	add(all, "temperature", s.Temperature)
	add(all, "top_p", s.TopP)
	add(all, "top_k", s.TopK)
	add(all, "min_p", s.MinP)
	add(all, "presence_penalty", s.PresencePenalty)
	add(all, "frequency_penalty", s.FrequencyPenalty)
	add(all, "repetition_penalty", s.RepetitionPenalty)
	add(all, "seed", s.Seed)
	add(all, "ignore_eos", s.IgnoreEOS)
	add(all, "skip_special_tokens", s.SkipSpecialTokens)
	add(all, "logprobs", s.Logprobs)
	if s.Guide != nil {
		all[guideSetting] = s.Guide
	}
	if len(s.StopTokenIDs) > 0 {
		all["stop_token_ids"] = s.StopTokenIDs
	}
	return all
}

func add[T any](all map[string]any, name string, value *T) {
	if value != nil {
		all[name] = *value
	}
}

// isIgnorable reports whether a model that does not support a setting may ignore it: the setting only chooses among
// likely answers, and a model that does not sample gives its likeliest one, or the value is a default without effect,
// which clients often send.
func isIgnorable(name string, value any) bool {
	switch name {
	case "temperature", "top_p", "top_k", "min_p", "seed":
		return true
	case "min_tokens":
		return value == 0
	case "presence_penalty", "frequency_penalty":
		return value == 0.0
	case "repetition_penalty":
		return value == 1.0
	case "ignore_eos":
		return value == false
	case "skip_special_tokens":
		return value == true
	}
	return false
}
