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
	// The sequence may be ranged over once. Breaking out of the loop, or the end of ctx, cancels the request. If
	// Generate itself fails, the engine has not been called. An error within the sequence is its last element and has
	// the engine's message, which Answer interprets. The last piece has a finish reason if the engine gives one. A
	// piece may end within a character.
	Generate(ctx context.Context, r Request) (iter.Seq2[Piece, error], error)
	// Check returns an Invalid fault that names the first setting that would change the answer but is not supported.
	Check(s *Sampling) error
	// Supports reports whether the engine supports a setting.
	Supports(setting string) bool
}

// Request is a prompt with the settings for its answer.
type Request struct {
	// Prompt has the chat template applied. It is the plain question for an engine that applies the template itself.
	Prompt string
	// Field is the member of the HTTP request that the prompt comes from. Faults name it.
	Field  string
	Images *vision.Images
	// Sampling has its MaxTokens set.
	Sampling Sampling
	// Stream requests pieces as they are written. Otherwise the answer may be one piece.
	Stream bool
	// PromptTokens is the length of the prompt in tokens, 0 if unknown.
	PromptTokens int
	// MaxLength is the maximum number of tokens of prompt and answer together, for the message about a prompt that the
	// engine finds too long.
	MaxLength int
}

// Piece is what an engine has written since the previous piece.
type Piece struct {
	Text     string
	Logprobs []Logprob // one for each new token, if requested
	// Tokens is the number of new tokens, 0 if the engine does not count.
	Tokens int
	// PromptTokens is the length of the prompt in tokens, 0 if the engine does not count.
	PromptTokens int
	// Finish is "stop" or "length" on the last piece, else "".
	Finish string
}

// Logprob is a written token, its natural log probability, and the likeliest tokens in its place, likeliest first.
type Logprob struct {
	Token   string
	Logprob float64
	Top     []Logprob
}

// Finite returns the log probability, but at least -9999 as in vLLM: JSON has no minus infinity.
func (l Logprob) Finite() float64 { return max(l.Logprob, -9999) }
