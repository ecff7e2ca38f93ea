package engine

// Sampling is how an answer is chosen. What is nil is left to the engine.
type Sampling struct {
	// N is the number of choices.
	N                 int
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
	// IncludeStop leaves the stop string that ended an answer in its text.
	IncludeStop       bool
	SkipSpecialTokens *bool
	// Logprobs is how many alternatives to each token are wanted beside the one chosen; nil is no log probabilities at
	// all.
	Logprobs *int
	// Guide holds the answer to a form; nil is none.
	Guide *Guide
}

// settingNames are all settings by vLLM's names, in which the parameter sampling_parameters of a model's entry lists
// those that the model knows.
var settingNames = []string{
	"min_tokens", "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty",
	"seed", "ignore_eos", "skip_special_tokens", "stop_token_ids", "logprobs", guideSetting,
}

// settings returns what is set, by vLLM's names. Values are int, int64, float64, bool, []int
// or *Guide. The number of choices,
// the length of the answer and the stop strings are not among them: the contracts say these in different ways.
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

// neutral are values that change nothing: a model that does not know the setting may be asked for them, since clients
// write out defaults.
var neutral = map[string]float64{
	"min_tokens": 0, "top_p": 1, "top_k": -1, "min_p": 0,
	"presence_penalty": 0, "frequency_penalty": 0, "repetition_penalty": 1,
}

// isNeutral reports whether a setting asks for nothing.
func isNeutral(name string, value any) bool {
	switch v := value.(type) {
	case int:
		n, ok := neutral[name]
		return ok && (float64(v) == n || name == "top_k" && v == 0)
	case float64:
		n, ok := neutral[name]
		return ok && v == n
	case bool:
		return name == "ignore_eos" && !v || name == "skip_special_tokens" && v
	}
	return false
}

// harmless are settings that any model may be asked for: they only say how an answer is drawn, and a model that
// never draws gives its likeliest one.
var harmless = map[string]bool{"temperature": true, "top_p": true, "top_k": true, "seed": true, "min_p": true}
