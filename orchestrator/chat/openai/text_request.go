package openai

import (
	"strings"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
)

// Bounds and defaults of text completions.
const (
	maxPrompts       = 64
	usualTextTokens  = 16
	maxTextLogprobs  = 20
	maxTextResponses = 128 // prompts times choices
)

// Streams reports whether the answer is wanted as events.
func (r TextRequest) Streams() bool { return isTrue(r.Stream) }

// Validate checks what needs no model to be known.
func (r *TextRequest) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Text(r.Model, "model"), fault.NotEmpty(len(r.Prompt), "prompt"), r.Stop.Check())
	problems.AddEach(len(r.Prompt), func(i int) *fault.Error { return fault.Text(r.Prompt[i], "prompt", i) })
	chat := r.chat()
	chat.checkForm(&problems)
	r.checkUnsupported(&problems)
	checkSettings(&problems, &chat)
	if r.Logprobs != nil {
		problems.Add(fault.Between(*r.Logprobs, 0, maxTextLogprobs, "logprobs"))
	}
	if n := r.N; n != nil && *n*len(r.Prompt) > maxTextResponses {
		problems.Add(fault.Between(*n*len(r.Prompt), 1, maxTextResponses, "n"))
	}
	return problems.Err()
}

func (r *TextRequest) checkUnsupported(problems *fault.Problems) {
	refuse := func(asked bool, name, reason string) {
		if asked {
			problems.Add(chat.Refuse(nil, []any{name}, "%s", reason))
		}
	}
	refuse(r.Suffix != nil && *r.Suffix != "", "suffix", "suffix is not currently supported")
	refuse(bool(r.LogitBias), "logit_bias", "logit_bias is not supported by this service")
	refuse(r.BestOf != nil && *r.BestOf > 1 && (r.N == nil || *r.BestOf != *r.N), "best_of", "best_of is not supported by this service")
	refuse(isTrue(r.Echo) && r.Logprobs != nil, "echo", "echo with logprobs is not supported by this service")
	refuse(r.StreamOptions != nil && !r.Streams(), "stream_options", "Stream options can only be defined when `stream=True`.")
}

// chat has the members that chat completions have too.
func (r *TextRequest) chat() Request {
	most := r.MaxTokens
	if most == nil {
		most = new(usualTextTokens)
	}
	return Request{
		Model: r.Model, MaxTokens: most, MinTokens: r.MinTokens, N: r.N, Temperature: r.Temperature, TopP: r.TopP, TopK: r.TopK, MinP: r.MinP,
		PresencePenalty: r.PresencePenalty, FrequencyPenalty: r.FrequencyPenalty, RepetitionPenalty: r.RepetitionPenalty, Seed: r.Seed,
		Stop: r.Stop, StopTokenIDs: r.StopTokenIDs, IgnoreEOS: r.IgnoreEOS, IncludeStop: r.IncludeStop, SkipSpecialTokens: r.SkipSpecialTokens,
		ResponseFormat: r.ResponseFormat, GuidedJSON: r.GuidedJSON, GuidedRegex: r.GuidedRegex, GuidedChoice: r.GuidedChoice,
		GuidedGrammar: r.GuidedGrammar, StructuredOutputs: r.StructuredOutputs, Stream: r.Stream,
	}
}

// conversations are what r asks for, one for each prompt.
func (r *TextRequest) conversations() []chat.Conversation {
	base := r.chat()
	all := make([]chat.Conversation, len(r.Prompt))
	for i := range r.Prompt {
		all[i] = base.conversation()
		all[i].Field = "prompt"
		all[i].Prompt = &r.Prompt[i]
		all[i].Sampling.Logprobs = r.Logprobs
	}
	return all
}

// echoed is a prompt as it comes before each of its answers: "" unless that is asked for.
func (r *TextRequest) echoed(prompt int) string {
	if isTrue(r.Echo) {
		return r.Prompt[prompt]
	}
	return ""
}

// textLogprobs are log probabilities in the form of text completions.
func textLogprobs(l *TokenLogprobs) *TextLogprobs {
	if l == nil {
		return nil
	}
	out := &TextLogprobs{}
	at := 0
	for _, token := range l.Content {
		top := map[string]float64{token.Token: token.Logprob}
		for _, other := range token.TopLogprobs {
			top[other.Token] = other.Logprob
		}
		out.Tokens = append(out.Tokens, token.Token)
		out.TokenLogprobs = append(out.TokenLogprobs, token.Logprob)
		out.TopLogprobs = append(out.TopLogprobs, top)
		out.TextOffset = append(out.TextOffset, at)
		at += strings.Count(token.Token, "") - 1
	}
	return out
}
