package openai

import (
	"context"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
)

// Stream answers a chat completion with [Chunk]s: for each choice its role, its text and its finish reason, and after
// all choices the usage if it is requested.
func (s *Service) Stream(ctx context.Context, r ChatRequest, send func(event any) error) error {
	answer, err := s.chat.Answer(ctx, r.conversation(r.plan()))
	if err != nil {
		return err
	}
	w := &streamWriter{
		send: send,
		chunk: Chunk{
			ID:      "chatcmpl-" + randomHex(),
			Object:  "chat.completion.chunk",
			Created: s.now().Unix(),
			Model:   answer.Model,
		},
		answer:  answer,
		started: make([]bool, answer.Choices),
		calls:   make([]int, answer.Choices),
		joiners: make([]textJoiner, answer.Choices),
	}
	w.usageAtEnd, w.usageInEvery = r.StreamOptions.usage()
	for chunk, err := range answer.Chunks() {
		if err == nil {
			err = w.write(chunk)
		}
		if err != nil {
			return err
		}
	}
	return w.writeUsage()
}

// usage reports whether a stream ends with the usage, and whether every event has it. o may be nil.
func (o *StreamOptions) usage() (atEnd, inEvery bool) {
	atEnd = o != nil && isTrue(o.IncludeUsage)
	return atEnd, atEnd && isTrue(o.ContinuousUsage)
}

// streamWriter writes the events of one answer.
type streamWriter struct {
	send         func(event any) error
	chunk        Chunk // members that all events share
	answer       *chat.Answer
	usageAtEnd   bool         // send the usage in a last event without choices
	usageInEvery bool         // send the usage so far in every event
	started      []bool       // by choice: its role has been sent
	calls        []int        // by choice: number of its calls so far
	joiners      []textJoiner // by choice
}

func (w *streamWriter) write(c chat.Chunk) error {
	if !w.started[c.Choice] {
		w.started[c.Choice] = true
		first := Delta{Role: "assistant", Content: new("")}
		if err := w.sendChoice(ChunkChoice{Index: c.Choice, Delta: first}); err != nil {
			return err
		}
	}
	deltas := c.Deltas
	if len(deltas) == 0 {
		if c.Finish == "" && len(c.Logprobs) == 0 {
			return nil
		}
		deltas = []tools.Delta{{}}
	}
	for i, delta := range deltas {
		choice := ChunkChoice{Index: c.Choice, Delta: w.delta(c.Choice, delta)}
		if i == 0 {
			choice.Logprobs = appendLogprobs(nil, c.Logprobs)
		}
		if i == len(deltas)-1 {
			choice.setFinish(c.Chunk, w.calls[c.Choice] > 0)
		}
		if err := w.sendChoice(choice); err != nil {
			return err
		}
	}
	return nil
}

// delta returns a delta of a choice in OpenAI's form.
func (w *streamWriter) delta(choice int, d tools.Delta) Delta {
	text := w.joiners[choice].next(d)
	if d.IsText() {
		return Delta{Content: &text}
	}
	call := CallDelta{Function: FunctionDelta{Name: d.Name, Arguments: d.Arguments}}
	if d.Name != "" {
		w.calls[choice]++
		call.ID = newCallID()
		call.Type = "function"
	}
	call.Index = w.calls[choice] - 1
	return Delta{ToolCalls: []CallDelta{call}}
}

// setFinish sets the finish and stop reasons if c is the last chunk of its choice.
func (choice *ChunkChoice) setFinish(c engine.Chunk, isCall bool) {
	if c.Finish == "" {
		return
	}
	choice.FinishReason = new(finishReason(c.Finish, isCall))
	choice.StopReason = &c.Stop
}

func (w *streamWriter) sendChoice(choice ChunkChoice) error {
	chunk := w.chunk
	chunk.Choices = []ChunkChoice{choice}
	if w.usageInEvery {
		chunk.Usage = usageOf(w.answer)
	}
	return w.send(chunk)
}

// writeUsage sends the usage of the whole answer if it was requested and is known.
func (w *streamWriter) writeUsage() error {
	usage := usageOf(w.answer)
	if !w.usageAtEnd || usage == nil {
		return nil
	}
	chunk := w.chunk
	chunk.Choices = []ChunkChoice{}
	chunk.Usage = usage
	return w.send(chunk)
}
