package stack

import (
	"context"

	"retort/orchestrator/chat/engine"
)

// Stream answers with [Event]s: "start", then "progress" with new text, then "complete" with the stop reason. If typed,
// as in the newer version, the text is a [TypedDelta].
func (s *Service) Stream(ctx context.Context, r Request, typed bool, send func(event any) error) error {
	answer, err := s.chat.Answer(ctx, r.conversation())
	if err != nil {
		return err
	}
	w := &streamWriter{send: send, typed: typed}
	for chunk, err := range answer.Chunks() {
		if err == nil {
			err = w.write(chunk.Chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// streamWriter writes the events of one answer.
type streamWriter struct {
	send    func(event any) error
	typed   bool
	started bool
}

func (w *streamWriter) write(c engine.Chunk) error {
	if !w.started {
		w.started = true
		if err := w.sendEvent("start", "", nil, nil); err != nil {
			return err
		}
	}
	if c.Text != "" || len(c.Logprobs) > 0 {
		if err := w.sendEvent("progress", c.Text, c.Logprobs, nil); err != nil {
			return err
		}
	}
	if c.Finish == "" {
		return nil
	}
	reason := stopReason(c.Finish)
	return w.sendEvent("complete", "", nil, &reason)
}

func (w *streamWriter) sendEvent(kind, text string, logprobs []engine.Logprob, reason *string) error {
	progress := Progress{Type: kind, Delta: text, Logprobs: logprobsByToken(logprobs), StopReason: reason}
	if w.typed {
		progress.Delta = TypedDelta{Type: "text", Text: text}
	}
	return w.send(Event{progress})
}
