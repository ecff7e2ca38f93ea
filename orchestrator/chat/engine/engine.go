package engine

import (
	"context"
	"iter"

	"retort/orchestrator/chat/vision"
)

// Engine writes answers. It is safe for concurrent use.
type Engine interface {
	// Generate writes one choice, whatever Sampling.N is.
	//
	// The sequence may be ranged over once. Breaking out of the loop, or the end of ctx, cancels the request. If Generate
	// itself fails, the engine has not been called; an error within the sequence is its last element, with the engine's
	// own message, which Answer interprets. The last piece has a finish reason if the engine gives one. A piece may end
	// within a character.
	Generate(ctx context.Context, p Prompt) (iter.Seq2[Piece, error], error)
	// Check returns an Invalid fault that names the first setting that the engine does not support and that would change
	// the answer.
	Check(s *Sampling) error
	// Supports reports whether the engine supports a setting, by vLLM's name.
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

// Piece is what an engine has written since the previous piece.
type Piece struct {
	Text     string
	Logprobs []Logprob // one for each new token, if requested
	// Tokens is the number of new tokens, 0 if the engine does not count.
	Tokens int
	// InputTokens is the length of the prompt in tokens, 0 if the engine does not count.
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

// Floored returns the log probability with minus infinity, which JSON lacks, replaced by -9999, as in vLLM.
func (l Logprob) Floored() float64 { return max(l.Logprob, -9999) }
