package openai

import "retort/orchestrator/chat/engine"

// joined adds log probabilities to those of an answer. nil is none.
func joined(to *TokenLogprobs, more []engine.Logprob) *TokenLogprobs {
	if len(more) == 0 {
		return to
	}
	if to == nil {
		to = &TokenLogprobs{}
	}
	for _, l := range more {
		token := TokenLogprob{Token: l.Token, Logprob: l.Floored(), Bytes: bytesOf(l.Token), TopLogprobs: []TopLogprob{}}
		for _, other := range l.Top {
			token.TopLogprobs = append(token.TopLogprobs, TopLogprob{other.Token, other.Floored(), bytesOf(other.Token)})
		}
		to.Content = append(to.Content, token)
	}
	return to
}

// bytesOf are the bytes of a text as numbers.
func bytesOf(s string) []int {
	raw := make([]int, len(s))
	for i := range len(s) {
		raw[i] = int(s[i])
	}
	return raw
}
