package chat

import (
	"context"
	"iter"
	"strings"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/telemetry"
)

// Answer is a model's answer to one conversation.
type Answer struct {
	Model   string // public id
	Choices int    // number of answers, at least 1

	// ClampedMaxTokens is the maximum length of each choice in tokens if the requested maximum did not fit, else 0.
	ClampedMaxTokens int

	ctx     context.Context
	model   *Model
	request engine.Request
	readers []*tools.Reader // by choice
	usage   usage
}

// Sampling returns the settings that the engine receives.
func (a *Answer) Sampling() engine.Sampling { return a.request.Sampling }

// Chunk is new text of one choice, also as texts and calls of tools.
type Chunk struct {
	engine.Chunk
	Deltas []tools.Delta
}

// Chunks runs the engine and yields the answer as it is written. It may be ranged over once; breaking out of the loop
// cancels the request. Chunks of several choices are interleaved. The last chunk of each choice has a finish reason.
func (a *Answer) Chunks() iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for written, err := range engine.Answer(a.ctx, a.model.engine, a.request) {
			chunk := Chunk{Chunk: written}
			if err == nil {
				a.usage.add(written)
				chunk.Deltas = a.readers[written.Choice].Read(written.Text, written.Finish != "")
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
		telemetry.FromContext(a.ctx).AddTokens(a.usage.total().Completion)
	}
}

// Usage returns the number of tokens so far; known is false if they cannot be counted.
func (a *Answer) Usage() (u Usage, known bool) {
	u = a.usage.total()
	return u, u != Usage{}
}

// Usage counts tokens, special tokens included.
type Usage struct {
	Prompt     int
	Completion int // of all choices
}

// usage counts the tokens of an answer. The engine's counts win; without them the model's tokenizer counts the text.
type usage struct {
	model        *Model
	prompt       int
	completion   int // as counted by the engine
	engineCounts bool
	texts        []strings.Builder // by choice, if the engine does not count
}

func (u *usage) add(c engine.Chunk) {
	if c.PromptTokens > 0 && c.Choice == 0 {
		u.prompt = c.PromptTokens
	}
	if c.Tokens > 0 {
		u.engineCounts = true
		u.completion += c.Tokens
		return
	}
	if u.engineCounts || u.model.tokenizer == nil {
		return
	}
	for len(u.texts) <= c.Choice {
		u.texts = append(u.texts, strings.Builder{})
	}
	u.texts[c.Choice].WriteString(c.Text)
}

func (u *usage) total() Usage {
	total := Usage{Prompt: u.prompt, Completion: u.completion}
	if !u.engineCounts {
		for i := range u.texts {
			total.Completion += u.model.countTokens(u.texts[i].String())
		}
	}
	return total
}
