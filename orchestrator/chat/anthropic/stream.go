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

// messageWriter writes one message, which has one block: the message starts, the block starts, its text or the
// arguments of its call grow, the block stops, the message gets its stop reason and stops.
type messageWriter struct {
	service *Service
	request Request
	plan    tools.Plan
	emit    func(name string, event any) error

	message Message
	started bool
	text    strings.Builder
	last    engine.Chunk // has the finish reason
}

func (s *Service) newMessageWriter(r Request, emit func(name string, event any) error) *messageWriter {
	return &messageWriter{service: s, request: r, plan: r.plan(), emit: emit}
}

// run writes the message. If it fails before the first event, no engine has been called.
func (w *messageWriter) run(ctx context.Context) error {
	answer, err := w.service.chat.Answer(ctx, w.request.conversation(w.plan))
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

// sendBlock emits an event about the one block.
func (w *messageWriter) sendBlock(name string, e event) error {
	e["index"] = 0
	return w.send(name, e)
}

// writeStart sends the events before the first text. The block of an answer that names its tool starts at the end.
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
	if err := w.send("ping", event{}); err != nil || w.plan.AnyTool {
		return err
	}
	return w.startBlock(w.plan.Function)
}

// startBlock starts the call of a function or, if it is "", a text.
func (w *messageWriter) startBlock(function string) error {
	block := AnswerBlock{Type: "text", Text: new("")}
	if function != "" {
		block = AnswerBlock{Type: "tool_use", ID: newID("toolu_"), Name: function, Input: json.RawMessage("{}")}
	}
	w.message.Content = []AnswerBlock{block}
	return w.sendBlock("content_block_start", event{"content_block": block})
}

func (w *messageWriter) writeChunk(c engine.Chunk) error {
	w.text.WriteString(c.Text)
	if c.Finish != "" {
		w.last = c
	}
	if c.Text == "" || w.plan.AnyTool {
		return nil
	}
	return w.sendDelta(c.Text)
}

// sendDelta sends new text of the block.
func (w *messageWriter) sendDelta(text string) error {
	delta := event{"type": "text_delta", "text": text}
	if w.block().Type == "tool_use" {
		delta = event{"type": "input_json_delta", "partial_json": text}
	}
	return w.sendBlock("content_block_delta", event{"delta": delta})
}

func (w *messageWriter) block() *AnswerBlock { return &w.message.Content[0] }

// writeEnd sends the events after the last text.
func (w *messageWriter) writeEnd(answer *chat.Answer) error {
	text := w.text.String()
	if w.plan.AnyTool {
		name, arguments, ok := w.plan.Call(text)
		if ok {
			text = arguments
		}
		if err := w.startBlock(name); err != nil {
			return err
		}
		if err := w.sendDelta(text); err != nil {
			return err
		}
	}
	isCall := w.fill(text)
	if err := w.sendBlock("content_block_stop", event{}); err != nil {
		return err
	}
	w.message.StopReason = new(stopReason(w.last, isCall))
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
