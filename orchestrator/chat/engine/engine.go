package engine

import (
	"context"
	"iter"

	"retort/orchestrator/chat/vision"
)

// Engine writes answers. It may be used by many goroutines at once.
type Engine interface {
	// Generate writes one answer, whatever the number of choices in the prompt's settings.
	//
	// The sequence may be read once. Leaving it early, or the end of ctx, ends the work in the engine. An error from
	// Generate itself means that nothing was asked of the engine; an error within the sequence is its last element. The
	// last piece has a finish reason where the engine gives one, else none has. A piece may end within a character.
	// Errors of the engine come as it worded them: Answer tells what they mean.
	Generate(ctx context.Context, p Prompt) (iter.Seq2[Piece, error], error)
	// Check refuses settings that the engine does not know and that would change the answer, with an Invalid fault that
	// names the first of them.
	Check(s *Sampling) error
	// Knows reports whether the engine knows a setting by vLLM's name.
	Supports(setting string) bool
}

// Prompt is a request to an engine.
type Prompt struct {
	// Text is the prompt with the chat template applied, or the plain question for an engine that applies the template
	// itself.
	Text string
	// Field is the member of the request that the text comes from, which refusals name.
	Field  string
	Images *vision.Set
	// Sampling has its MaxTokens set.
	Sampling Sampling
	// Stream asks for pieces as they are written; else one piece may come.
	Stream bool
	// InputTokens is the length of the prompt in tokens, 0 where it is not known.
	InputTokens int
	// MaxLength is the most tokens of prompt and answer together. It is said to the client when an engine finds the
	// prompt too long.
	MaxLength int
}

// Piece is what an engine has written since the piece before.
type Piece struct {
	Text     string
	Logprobs []Logprob // one for each new token, when they were asked for
	// Tokens is the number of new tokens, 0 where the engine does not say.
	Tokens int
	// InputTokens is the length of the prompt in tokens, 0 where the engine does not say.
	InputTokens int
	// Finish is "stop" or "length" on the last piece, else "".
	Finish string
}

// Logprob is a token that was written, its natural log probability, and the likeliest tokens in its place, likeliest
// first.
type Logprob struct {
	Token   string
	Logprob float64
	Top     []Logprob
}

// Floored is the log probability as JSON can say it: minus infinity becomes -9999, as in vLLM.
func (l Logprob) Floored() float64 { return max(l.Logprob, -9999) }
