package stack

import (
	"context"

	"retort/orchestrator/chat/engine"
)

// Stream answers as events, each of them an Event: "start", then "progress" with the text as it is written, then
// "complete" with the reason of the end. typed is the newer form, in which the text is an object.
func (s *Service) Stream(ctx context.Context, r Request, typed bool, send func(event any) error) error {
	answer, err := s.chat.Answer(ctx, r.conversation())
	if err != nil {
		return err
	}
	w := &streamWriter{send: send, typed: typed}
	for chunk, err := range answer.Chunks() {
		if err == nil {
			err = w.write(chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// streamWriter writes the events of one answer.
type streamWriter struct {
	send  func(event any) error
	typed bool
	begun bool
}

func (w *streamWriter) write(c engine.Chunk) error {
	if !w.begun {
		w.begun = true
		if err := w.event("start", "", nil, nil); err != nil {
			return err
		}
	}
	if c.Text != "" || len(c.Logprobs) > 0 {
		if err := w.event("progress", c.Text, c.Logprobs, nil); err != nil {
			return err
		}
	}
	if c.Finish == "" {
		return nil
	}
	reason := stopReason(c.Finish)
	return w.event("complete", "", nil, &reason)
}

func (w *streamWriter) event(kind, text string, logprobs []engine.Logprob, reason *string) error {
	progress := Progress{Type: kind, Delta: text, Logprobs: logprobsByToken(logprobs), StopReason: reason}
	if w.typed {
		progress.Delta = TypedDelta{Type: "text", Text: text}
	}
	return w.send(Event{progress})
}
