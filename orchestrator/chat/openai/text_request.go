package openai

import (
	"cmp"
	"unicode/utf8"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/fault"
)

// Bounds and defaults of text completions.
const (
	maxPrompts        = 64
	defaultTextTokens = 16
	maxTextLogprobs   = 20
	maxTextChoices    = 128 // of all prompts
)

// Validate checks all bounds that do not depend on the model.
func (r *TextRequest) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Text(r.Model, "model"), fault.NotEmpty(len(r.Prompt), "prompt"), r.Stop.Check())
	problems.AddEach(len(r.Prompt), func(i int) *fault.Error { return fault.Text(r.Prompt[i], "prompt", i) })
	r.checkGuides(&problems, nil)
	r.checkUnsupported(&problems)
	problems.Add(chat.CheckSampling(r.sampling())...)
	if r.Logprobs != nil {
		problems.Add(fault.Between(*r.Logprobs, 0, maxTextLogprobs, "logprobs"))
	}
	if n := r.N; n != nil && *n*len(r.Prompt) > maxTextChoices {
		problems.Add(fault.Between(*n*len(r.Prompt), 1, maxTextChoices, "n"))
	}
	return problems.Err()
}

func (r *TextRequest) checkUnsupported(problems *fault.Problems) {
	refuseIf := chat.Refuser(problems)
	refuseIf(r.Suffix != nil && *r.Suffix != "", "suffix", "suffix is not currently supported")
	refuseIf(bool(r.LogitBias), "logit_bias", unsupported, "logit_bias")
	refuseIf(r.hasBestOf(), "best_of", unsupported, "best_of")
	refuseIf(isTrue(r.Echo) && r.Logprobs != nil, "echo", unsupported, "echo with logprobs")
	refuseIf(r.StreamOptions != nil && !r.Streams(), "stream_options", streamOptionsAlone)
}

// conversations returns a conversation for each prompt of a valid request.
func (r *TextRequest) conversations() []chat.Conversation {
	sampling := r.sampling()
	if guides, _ := r.guides(nil); len(guides) > 0 {
		sampling.Guide = guides[0]
	}
	conversations := make([]chat.Conversation, len(r.Prompt))
	for i := range r.Prompt {
		conversations[i] = chat.Conversation{
			Model:    r.Model,
			Field:    "prompt",
			Prompt:   &r.Prompt[i],
			Sampling: sampling,
			Stream:   r.Streams(),
		}
	}
	return conversations
}

// sampling returns the engine's settings without guide.
func (r *TextRequest) sampling() engine.Sampling {
	s := r.Parameters.sampling()
	s.MaxTokens = cmp.Or(r.MaxTokens, new(defaultTextTokens))
	s.Logprobs = r.Logprobs
	return s
}

// echo returns the text to prepend to each answer to prompt i.
func (r *TextRequest) echo(i int) string {
	if isTrue(r.Echo) {
		return r.Prompt[i]
	}
	return ""
}

// textLogprobs converts log probabilities to the shape of text completions. offset is the number of characters of the
// answer before them, end that of the answer with them.
func textLogprobs(l *TokenLogprobs, offset int) (out *TextLogprobs, end int) {
	if l == nil {
		return nil, offset
	}
	out = &TextLogprobs{}
	for _, token := range l.Content {
		top := map[string]float64{token.Token: token.Logprob}
		for _, other := range token.TopLogprobs {
			top[other.Token] = other.Logprob
		}
		out.Tokens = append(out.Tokens, token.Token)
		out.TokenLogprobs = append(out.TokenLogprobs, token.Logprob)
		out.TopLogprobs = append(out.TopLogprobs, top)
		out.TextOffset = append(out.TextOffset, offset)
		offset += utf8.RuneCountInString(token.Token)
	}
	return out, offset
}
