package chat

// Conversation is what both interfaces ask for.
type Conversation struct {
	Model    string
	Messages []Message
	Sampling Sampling
	// Stream says that the answer is wanted as it is written.
	Stream bool
	// Continue has the model go on with the last message.
	Continue bool
	// Closed leaves out the mark that begins the assistant's answer.
	Closed bool
}

// Message is one turn: its role in the words of the interface, its parts in
// order.
type Message struct {
	Role  string
	Parts []Part
}

// Part is a text or an image.
type Part struct {
	Text  string
	Image *Source
}

// Source is where an image comes from: a URL, or a file in base64.
type Source struct{ URL, Base64 string }

// Sampling is how an answer is chosen. nil is "as the model likes".
type Sampling struct {
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
	IncludeStop       bool
	SkipSpecialTokens *bool
	// Logprobs is how many alternatives to each token are wanted beside the
	// one chosen; nil is no log probabilities at all.
	Logprobs *int
}

// name says which setting of Sampling a parameter of the model's white list
// means, in vLLM's words.
func (s *Sampling) set() map[string]any {
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

// neutral are values that change nothing, so that a model without the setting
// may be sent them: clients write out defaults.
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
