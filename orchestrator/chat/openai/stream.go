package openai

import (
	"context"
	"strings"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
)

// Stream answers a chat completion with [Chunk]s: for each choice its role, its text and its finish reason, and after
// all choices the usage if it is requested.
func (s *Service) Stream(ctx context.Context, r ChatRequest, send func(event any) error) error {
	plan := r.plan()
	answer, err := s.chat.Answer(ctx, r.conversation(plan))
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
		plan:    plan,
		started: make([]bool, answer.Choices),
		texts:   make([]strings.Builder, answer.Choices),
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
	plan         tools.Plan
	usageAtEnd   bool              // send the usage in a last event without choices
	usageInEvery bool              // send the usage so far in every event
	started      []bool            // by choice: its role has been sent
	texts        []strings.Builder // by choice: its text so far, if it names its tool
}

func (w *streamWriter) write(c engine.Chunk) error {
	if !w.started[c.Choice] {
		w.started[c.Choice] = true
		if err := w.sendChoice(ChunkChoice{Index: c.Choice, Delta: w.firstDelta()}); err != nil {
			return err
		}
	}
	if w.plan.AnyTool {
		return w.buffer(c)
	}
	if c.Text == "" && c.Finish == "" && len(c.Logprobs) == 0 {
		return nil
	}
	choice := ChunkChoice{
		Index:    c.Choice,
		Delta:    Delta{Content: &c.Text},
		Logprobs: appendLogprobs(nil, c.Logprobs),
	}
	isCall := w.plan.Function != ""
	if isCall {
		choice.Delta = Delta{ToolCalls: []CallDelta{{Function: FunctionDelta{Arguments: c.Text}}}}
	}
	choice.setFinish(c, isCall)
	return w.sendChoice(choice)
}

// firstDelta returns a choice's role and, if the choice is a tool call, the function's name.
func (w *streamWriter) firstDelta() Delta {
	if w.plan.Function == "" {
		return Delta{Role: "assistant", Content: new("")}
	}
	call := CallDelta{ID: newCallID(), Type: "function", Function: FunctionDelta{Name: w.plan.Function}}
	return Delta{Role: "assistant", ToolCalls: []CallDelta{call}}
}

// buffer sends a choice that names its tool once it is complete.
func (w *streamWriter) buffer(c engine.Chunk) error {
	text := &w.texts[c.Choice]
	text.WriteString(c.Text)
	if c.Finish == "" {
		return nil
	}
	choice := ChunkChoice{Index: c.Choice, Delta: Delta{Content: new(text.String())}}
	calls := toolCalls(w.plan, text.String())
	for i, call := range calls {
		delta := CallDelta{Index: i, ID: call.ID, Type: call.Type, Function: FunctionDelta(call.Function)}
		choice.Delta = Delta{ToolCalls: []CallDelta{delta}}
	}
	choice.setFinish(c, len(calls) > 0)
	return w.sendChoice(choice)
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
