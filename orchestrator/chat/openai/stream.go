package openai

import (
	"context"
	"strings"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
)

// Stream answers as events, each of them a Chunk: the role of each choice, its text as it is written, its finish
// reason; then the usage, if it is asked for.
func (s *Service) Stream(ctx context.Context, r Request, send func(event any) error) error {
	answer, err := s.chat.Answer(ctx, r.conversation())
	if err != nil {
		return err
	}
	w := &streamWriter{
		send:   send,
		chunk:  Chunk{ID: "chatcmpl-" + randomHex(), Object: "chat.completion.chunk", Created: s.now().Unix(), Model: answer.Model},
		begun:  make([]bool, answer.Choices),
		answer: answer,
		plan:   r.plan(),
		texts:  make([]strings.Builder, answer.Choices),
	}
	if o := r.StreamOptions; o != nil {
		w.usageAtEnd = isTrue(o.IncludeUsage)
		w.usageAlways = isTrue(o.IncludeUsage) && isTrue(o.ContinuousUsage)
	}
	for chunk, err := range answer.Chunks() {
		if err == nil {
			err = w.write(chunk)
		}
		if err != nil {
			return err
		}
	}
	return w.close()
}

// streamWriter writes the events of one answer.
type streamWriter struct {
	send        func(event any) error
	chunk       Chunk  // what all events share
	begun       []bool // by choice: its role has been sent
	answer      *chat.Answer
	usageAtEnd  bool // in an event without choices
	usageAlways bool // in every event
	plan        plan
	texts       []strings.Builder // by choice: calls that cannot be sent before they are whole
}

func (w *streamWriter) write(c engine.Chunk) error {
	if !w.begun[c.Choice] {
		w.begun[c.Choice] = true
		if err := w.sendChoice(ChunkChoice{Index: c.Choice, Delta: w.first()}); err != nil {
			return err
		}
	}
	if w.plan.choose {
		return w.keep(c)
	}
	if c.Text == "" && c.Finish == "" && len(c.Logprobs) == 0 {
		return nil
	}
	choice := ChunkChoice{Index: c.Choice, Delta: Delta{Content: &c.Text}, Logprobs: joined(nil, c.Logprobs)}
	if w.plan.call != "" {
		choice.Delta = Delta{ToolCalls: []CallDelta{{Function: FunctionDelta{Arguments: c.Text}}}}
	}
	choice.finish(c, w.plan.call != "")
	return w.sendChoice(choice)
}

// first is the beginning of a choice: its role and, where the answer is a call, the name of what is called.
func (w *streamWriter) first() Delta {
	if w.plan.call == "" {
		return Delta{Role: "assistant", Content: new("")}
	}
	call := CallDelta{ID: newCallID(), Type: "function", Function: FunctionDelta{Name: w.plan.call}}
	return Delta{Role: "assistant", ToolCalls: []CallDelta{call}}
}

// keep waits for the end of a choice that names the tool it calls.
func (w *streamWriter) keep(c engine.Chunk) error {
	text := &w.texts[c.Choice]
	text.WriteString(c.Text)
	if c.Finish == "" {
		return nil
	}
	choice := ChunkChoice{Index: c.Choice, Delta: Delta{Content: new(text.String())}}
	calls := w.plan.calls(text.String())
	for i, call := range calls {
		delta := CallDelta{Index: i, ID: call.ID, Type: call.Type, Function: FunctionDelta{Name: call.Function.Name, Arguments: call.Function.Arguments}}
		choice.Delta = Delta{ToolCalls: []CallDelta{delta}}
	}
	choice.finish(c, len(calls) > 0)
	return w.sendChoice(choice)
}

// finish sets why the choice has ended, where it has.
func (choice *ChunkChoice) finish(c engine.Chunk, called bool) {
	if c.Finish == "" {
		return
	}
	choice.FinishReason = &c.Finish
	if called && c.Finish == "stop" {
		choice.FinishReason = new(calledTools)
	}
	choice.StopReason = &StopReason{c.Stop}
}

func (w *streamWriter) sendChoice(choice ChunkChoice) error {
	chunk := w.chunk
	chunk.Choices = []ChunkChoice{choice}
	if w.usageAlways {
		chunk.Usage = usageOf(w.answer)
	}
	return w.send(chunk)
}

func (w *streamWriter) close() error {
	usage := usageOf(w.answer)
	if !w.usageAtEnd || usage == nil {
		return nil
	}
	chunk := w.chunk
	chunk.Choices = []ChunkChoice{}
	chunk.Usage = usage
	return w.send(chunk)
}
