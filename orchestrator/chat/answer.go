package chat

import (
	"context"
	"iter"
	"strings"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/telemetry"
)

// Answer is what a model writes for one conversation.
type Answer struct {
	Model   string // public id
	Choices int    // answers to the one conversation, at least 1
	Cut     int    // most tokens of each choice where more were asked for than fit, else 0

	ctx    context.Context
	model  *Model
	prompt engine.Prompt
	usage  usage
}

// Chunks has the answer written. The sequence may be read once; leaving it early ends the work. Chunks of several
// choices come as they are written, and the last one of each choice has a finish reason.
func (a *Answer) Chunks() iter.Seq2[engine.Chunk, error] {
	return func(yield func(engine.Chunk, error) bool) {
		for chunk, err := range engine.Answer(a.ctx, a.model.engine, a.prompt) {
			if err == nil {
				a.usage.add(chunk)
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
		telemetry.FromContext(a.ctx).AddTokens(a.usage.count().Completion)
	}
}

// Usage is the number of tokens so far, and whether they can be counted.
func (a *Answer) Usage() (u Usage, counted bool) {
	u = a.usage.count()
	return u, u != Usage{}
}

// Usage counts tokens, special ones included.
type Usage struct {
	Prompt     int
	Completion int // of all choices
}

// usage counts the tokens of an answer: as the engine says, else with the model's tokenizer.
type usage struct {
	model  *Model
	input  int
	output int
	said   bool              // the engine counts
	texts  []strings.Builder // by choice, where it does not
}

func (u *usage) add(c engine.Chunk) {
	if c.InputTokens > 0 && c.Choice == 0 {
		u.input = c.InputTokens
	}
	if c.Tokens > 0 {
		u.said = true
		u.output += c.Tokens
		return
	}
	if u.said || u.model.tokenizer == nil {
		return
	}
	for len(u.texts) <= c.Choice {
		u.texts = append(u.texts, strings.Builder{})
	}
	u.texts[c.Choice].WriteString(c.Text)
}

func (u *usage) count() Usage {
	if u.said {
		return Usage{Prompt: u.input, Completion: u.output}
	}
	written := 0
	for i := range u.texts {
		written += u.model.count(u.texts[i].String())
	}
	return Usage{Prompt: u.input, Completion: written}
}
