package openai

import (
	"unicode/utf8"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
)

// Bounds and defaults of text completions.
const (
	maxPrompts        = 64
	defaultTextTokens = 16
	maxTextLogprobs   = 20
	maxTextChoices    = 128 // of all prompts
)

// Streams reports whether the request is for a stream.
func (r TextRequest) Streams() bool { return isTrue(r.Stream) }

// Validate checks all bounds that do not depend on the model.
func (r *TextRequest) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Text(r.Model, "model"), fault.NotEmpty(len(r.Prompt), "prompt"), r.Stop.Check())
	problems.AddEach(len(r.Prompt), func(i int) *fault.Error { return fault.Text(r.Prompt[i], "prompt", i) })
	request := r.chatRequest()
	request.checkGuides(&problems)
	r.checkUnsupported(&problems)
	request.checkSampling(&problems)
	if r.Logprobs != nil {
		problems.Add(fault.Between(*r.Logprobs, 0, maxTextLogprobs, "logprobs"))
	}
	if n := r.N; n != nil && *n*len(r.Prompt) > maxTextChoices {
		problems.Add(fault.Between(*n*len(r.Prompt), 1, maxTextChoices, "n"))
	}
	return problems.Err()
}

func (r *TextRequest) checkUnsupported(problems *fault.Problems) {
	refuseIf := refuser(problems)
	refuseIf(r.Suffix != nil && *r.Suffix != "", "suffix", "suffix is not currently supported")
	refuseIf(bool(r.LogitBias), "logit_bias", unsupported, "logit_bias")
	refuseIf(isBestOf(r.BestOf, r.N), "best_of", unsupported, "best_of")
	refuseIf(isTrue(r.Echo) && r.Logprobs != nil, "echo", unsupported, "echo with logprobs")
	refuseIf(r.StreamOptions != nil && !r.Streams(), "stream_options", streamOptionsAlone)
}

// chatRequest returns a chat completion request with the members that both requests have.
func (r *TextRequest) chatRequest() Request {
	maxTokens := r.MaxTokens
	if maxTokens == nil {
		maxTokens = new(defaultTextTokens)
	}
	return Request{
		Model:             r.Model,
		MaxTokens:         maxTokens,
		MinTokens:         r.MinTokens,
		N:                 r.N,
		Temperature:       r.Temperature,
		TopP:              r.TopP,
		TopK:              r.TopK,
		MinP:              r.MinP,
		PresencePenalty:   r.PresencePenalty,
		FrequencyPenalty:  r.FrequencyPenalty,
		RepetitionPenalty: r.RepetitionPenalty,
		Seed:              r.Seed,
		Stop:              r.Stop,
		StopTokenIDs:      r.StopTokenIDs,
		IgnoreEOS:         r.IgnoreEOS,
		IncludeStop:       r.IncludeStop,
		SkipSpecialTokens: r.SkipSpecialTokens,
		ResponseFormat:    r.ResponseFormat,
		GuidedJSON:        r.GuidedJSON,
		GuidedRegex:       r.GuidedRegex,
		GuidedChoice:      r.GuidedChoice,
		GuidedGrammar:     r.GuidedGrammar,
		StructuredOutputs: r.StructuredOutputs,
		Stream:            r.Stream,
	}
}

// conversations returns a conversation for each prompt of a valid request.
func (r *TextRequest) conversations() []chat.Conversation {
	request := r.chatRequest()
	conversations := make([]chat.Conversation, len(r.Prompt))
	for i := range r.Prompt {
		conversations[i] = request.conversation()
		conversations[i].Field = "prompt"
		conversations[i].Prompt = &r.Prompt[i]
		conversations[i].Sampling.Logprobs = r.Logprobs
	}
	return conversations
}

// echo returns the text to prepend to each answer to prompt i.
func (r *TextRequest) echo(i int) string {
	if isTrue(r.Echo) {
		return r.Prompt[i]
	}
	return ""
}

// textLogprobs converts log probabilities to the shape of text completions.
func textLogprobs(l *TokenLogprobs) *TextLogprobs {
	if l == nil {
		return nil
	}
	out := &TextLogprobs{}
	offset := 0
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
	return out
}
