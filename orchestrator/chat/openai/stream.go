package openai

import (
	"context"

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
		chunk:  Chunk{ID: newID(), Object: "chat.completion.chunk", Created: s.now().Unix(), Model: answer.Model},
		begun:  make([]bool, answer.Choices),
		answer: answer,
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
}

func (w *streamWriter) write(c engine.Chunk) error {
	if !w.begun[c.Choice] {
		w.begun[c.Choice] = true
		if err := w.sendChoice(ChunkChoice{Index: c.Choice, Delta: Delta{Role: "assistant", Content: new("")}}); err != nil {
			return err
		}
	}
	if c.Text == "" && c.Finish == "" && len(c.Logprobs) == 0 {
		return nil
	}
	choice := ChunkChoice{Index: c.Choice, Delta: Delta{Content: &c.Text}, Logprobs: joined(nil, c.Logprobs)}
	if c.Finish != "" {
		choice.FinishReason = &c.Finish
		choice.StopReason = &StopReason{c.Stop}
	}
	return w.sendChoice(choice)
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
