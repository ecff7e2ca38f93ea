package anthropic

import (
	"context"
	"encoding/json"
	"strings"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
)

// event is one event of a stream by its members.
type event = map[string]any

// messageWriter writes one message: the message starts; each of its blocks, a text or a call, starts, grows and stops;
// the message gets its stop reason and stops.
type messageWriter struct {
	service *Service
	request Request
	emit    func(name string, event any) error

	message Message
	started bool
	open    bool            // the last block grows
	text    strings.Builder // of the open block
	called  bool
	last    engine.Chunk // has the finish reason
}

func (s *Service) newMessageWriter(r Request, emit func(name string, event any) error) *messageWriter {
	return &messageWriter{service: s, request: r, emit: emit}
}

// run writes the message. If it fails before the first event, no engine has been called.
func (w *messageWriter) run(ctx context.Context) error {
	answer, err := w.service.chat.Answer(ctx, w.request.conversation(w.request.plan()))
	if err != nil {
		return err
	}
	for chunk, err := range answer.Chunks() {
		if err == nil && !w.started {
			w.started = true
			err = w.writeStart(answer)
		}
		if err == nil {
			err = w.writeChunk(chunk)
		}
		if err != nil {
			return err
		}
	}
	return w.writeEnd(answer)
}

// send emits an event, which has its name as type.
func (w *messageWriter) send(name string, e event) error {
	e["type"] = name
	return w.emit(name, e)
}

// sendBlock emits an event about the last block.
func (w *messageWriter) sendBlock(name string, e event) error {
	e["index"] = len(w.message.Content) - 1
	return w.send(name, e)
}

// writeStart sends the events before the first block.
func (w *messageWriter) writeStart(answer *chat.Answer) error {
	w.message = Message{
		ID:        newID("msg_"),
		Type:      "message",
		Role:      "assistant",
		Model:     answer.Model,
		Content:   []AnswerBlock{},
		Usage:     usageOf(answer),
		MaxTokens: answer.ClampedMaxTokens,
	}
	if err := w.send("message_start", event{"message": w.message}); err != nil {
		return err
	}
	return w.send("ping", event{})
}

// startBlock starts the call of a function or, if it is "", a text.
func (w *messageWriter) startBlock(function string) error {
	block := AnswerBlock{Type: "text", Text: new("")}
	if function != "" {
		block = AnswerBlock{Type: "tool_use", ID: newID("toolu_"), Name: function, Input: json.RawMessage("{}")}
	}
	w.message.Content = append(w.message.Content, block)
	w.open = true
	w.text.Reset()
	return w.sendBlock("content_block_start", event{"content_block": block})
}

func (w *messageWriter) writeChunk(c chat.Chunk) error {
	if c.Finish != "" {
		w.last = c.Chunk
	}
	for _, delta := range c.Deltas {
		if err := w.writeDelta(delta); err != nil {
			return err
		}
	}
	return nil
}

// writeDelta stops the open block if the delta belongs to another one, and sends the delta.
func (w *messageWriter) writeDelta(d tools.Delta) error {
	if w.open && (d.Name != "" || d.IsText() != (w.block().Type == "text")) {
		if err := w.stopBlock(); err != nil {
			return err
		}
	}
	if !w.open {
		if err := w.startBlock(d.Name); err != nil {
			return err
		}
	}
	delta := event{"type": "text_delta", "text": d.Text}
	if !d.IsText() {
		delta = event{"type": "input_json_delta", "partial_json": d.Arguments}
	}
	w.text.WriteString(d.Text + d.Arguments)
	if d.Text+d.Arguments == "" {
		return nil
	}
	return w.sendBlock("content_block_delta", event{"delta": delta})
}

func (w *messageWriter) block() *AnswerBlock { return &w.message.Content[len(w.message.Content)-1] }

// stopBlock completes the open block.
func (w *messageWriter) stopBlock() error {
	w.open = false
	w.called = w.fill(w.text.String()) || w.called
	return w.sendBlock("content_block_stop", event{})
}

// writeEnd sends the events after the last text.
func (w *messageWriter) writeEnd(answer *chat.Answer) error {
	if !w.open { // an empty answer
		if err := w.startBlock(""); err != nil {
			return err
		}
	}
	if err := w.stopBlock(); err != nil {
		return err
	}
	w.message.StopReason = new(stopReason(w.last, w.called))
	w.message.StopSequence = w.last.Stop
	w.message.Usage = usageOf(answer)
	err := w.send("message_delta", event{
		"delta": event{"stop_reason": w.message.StopReason, "stop_sequence": w.message.StopSequence},
		"usage": w.message.Usage,
	})
	if err != nil {
		return err
	}
	return w.send("message_stop", event{})
}

// fill sets the complete content of the block, and reports whether it is the call of a tool. A call that was cut off
// becomes a text, because the input of a call is an object.
func (w *messageWriter) fill(text string) (isCall bool) {
	block := w.block()
	switch {
	case block.Type == "text":
		block.Text = &text
	case tools.IsObject(json.RawMessage(text)) && json.Valid([]byte(text)):
		block.Input = json.RawMessage(text)
		return true
	default:
		*block = AnswerBlock{Type: "text", Text: &text}
	}
	return false
}

// stopReason returns this interface's name of the reason why an answer ended.
func stopReason(last engine.Chunk, isCall bool) string {
	switch {
	case last.Finish == "length":
		return "max_tokens"
	case last.Stop != nil:
		return "stop_sequence"
	case isCall:
		return "tool_use"
	}
	return "end_turn"
}

func usageOf(a *chat.Answer) Usage {
	u, _ := a.Usage()
	return Usage{InputTokens: u.Prompt, OutputTokens: u.Completion}
}
