package openai

import (
	"context"
	"strings"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/fault"
)

// responseWriter writes the events of one response: it is created and in progress, an item is added to its output, the
// item's text or arguments grow and are done, the item is done, and the response is completed, incomplete or failed.
type responseWriter struct {
	service  *Service
	request  ResponseRequest
	plan     plan
	emit     func(name string, event any) error
	sequence int // number of the next event

	response Response
	item     string // id of the one item
	call     ToolCall
	text     strings.Builder
	logprobs *TokenLogprobs
	finish   string
}

func (s *Service) newResponseWriter(r ResponseRequest, emit func(name string, event any) error) *responseWriter {
	return &responseWriter{service: s, request: r, plan: r.plan(), emit: emit, response: r.response()}
}

// run has the response written. An error before the first event means that nothing was asked of an engine.
func (w *responseWriter) run(ctx context.Context) error {
	w.response.CreatedAt = w.service.now().Unix()
	answer, err := w.service.chat.Answer(ctx, w.request.conversation())
	if err != nil {
		return err
	}
	w.response.Model = answer.Model
	if answer.Cut > 0 {
		w.response.MaxOutputTokens = &answer.Cut
	}
	begun := false
	for chunk, err := range answer.Chunks() {
		if err == nil && !begun {
			begun = true
			err = w.begin()
		}
		if err == nil {
			err = w.write(chunk)
		}
		if err != nil {
			return err
		}
	}
	return w.end(answer)
}

// send emits an event of a type with its members, numbered.
func (w *responseWriter) send(kind string, members map[string]any) error {
	members["type"] = kind
	members["sequence_number"] = w.sequence
	w.sequence++
	return w.emit(kind, members)
}

// sendItem emits an event about the one item of the output.
func (w *responseWriter) sendItem(kind string, members map[string]any) error {
	members["output_index"] = 0
	return w.send(kind, members)
}

// sendPart emits an event about the content of the item: of the one part of a message, or of a call's arguments.
func (w *responseWriter) sendPart(kind string, members map[string]any) error {
	members["item_id"] = w.item
	if !w.calls() {
		members["content_index"] = 0
	}
	return w.sendItem(kind, members)
}

// calls says that what is written are the arguments of a call, from its beginning.
func (w *responseWriter) calls() bool { return w.plan.call != "" }

// begin sends what comes before the first text. A call of one of several tools is known at the end only.
func (w *responseWriter) begin() error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if err := w.send(kind, map[string]any{"response": w.response}); err != nil {
			return err
		}
	}
	if w.plan.choose {
		return nil
	}
	if w.calls() {
		w.call = ToolCall{ID: newCallID(), Function: FunctionCall{Name: w.plan.call}}
	}
	return w.add()
}

// add sends the item without its content.
func (w *responseWriter) add() error {
	if w.calls() {
		w.item = "fc_" + randomHex()
		return w.sendItem("response.output_item.added", map[string]any{"item": functionCall(w.item, "in_progress", w.call)})
	}
	w.item = "msg_" + randomHex()
	if err := w.sendItem("response.output_item.added", map[string]any{"item": message(w.item, "in_progress")}); err != nil {
		return err
	}
	return w.sendPart("response.content_part.added", map[string]any{"part": outputText("", nil)})
}

func (w *responseWriter) write(c engine.Chunk) error {
	w.text.WriteString(c.Text)
	w.logprobs = joined(w.logprobs, c.Logprobs)
	if c.Finish != "" {
		w.finish = c.Finish
	}
	switch {
	case c.Text == "" || w.plan.choose:
		return nil
	case w.calls():
		return w.sendPart("response.function_call_arguments.delta", map[string]any{"delta": c.Text})
	}
	logprobs := []TokenLogprob{}
	if new := joined(nil, c.Logprobs); new != nil {
		logprobs = new.Content
	}
	return w.sendPart("response.output_text.delta", map[string]any{"delta": c.Text, "logprobs": logprobs})
}

// end sends what comes after the last text.
func (w *responseWriter) end(answer *chat.Answer) error {
	status := "completed"
	if w.finish == "length" {
		status = "incomplete"
		w.response.IncompleteDetails = &Incomplete{Reason: "max_output_tokens"}
	}
	if err := w.choose(); err != nil {
		return err
	}
	item, err := w.done(status)
	if err != nil {
		return err
	}
	if err := w.sendItem("response.output_item.done", map[string]any{"item": item}); err != nil {
		return err
	}
	w.response.Status = status
	w.response.Output = []OutputItem{item}
	w.response.Usage = responseUsage(answer)
	return w.send("response."+status, map[string]any{"response": w.response})
}

// choose makes a call, or a message, of a text that names the tool it calls.
func (w *responseWriter) choose() error {
	if !w.plan.choose {
		return nil
	}
	if calls := w.plan.calls(w.text.String()); len(calls) > 0 {
		w.plan = plan{call: calls[0].Function.Name}
		w.call = calls[0]
		w.text.Reset()
		w.text.WriteString(w.call.Function.Arguments)
		w.call.Function.Arguments = ""
	}
	return w.add()
}

// done sends the content of the item as a whole and returns the item.
func (w *responseWriter) done(status string) (OutputItem, error) {
	text := w.text.String()
	if w.calls() {
		w.call.Function.Arguments = text
		err := w.sendPart("response.function_call_arguments.done", map[string]any{"name": w.call.Function.Name, "arguments": text})
		return functionCall(w.item, status, w.call), err
	}
	var logprobs []TokenLogprob
	if w.logprobs != nil {
		logprobs = w.logprobs.Content
	}
	part := outputText(text, logprobs)
	if err := w.sendPart("response.output_text.done", map[string]any{"text": text, "logprobs": part.Logprobs}); err != nil {
		return OutputItem{}, err
	}
	err := w.sendPart("response.content_part.done", map[string]any{"part": part})
	return message(w.item, status, part), err
}

// failed words a failure within the stream.
func (w *responseWriter) failed(f *fault.Error) []any {
	w.response.Status = "failed"
	w.response.Error = &ResponseError{Code: "server_error", Message: f.Summary()}
	if f.Kind == fault.Invalid {
		w.response.Error.Code = "invalid_prompt"
	}
	event := map[string]any{"type": "response.failed", "sequence_number": w.sequence, "response": w.response}
	return []any{event}
}
