package openai

import (
	"context"
	"strings"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/fault"
)

// Respond answers in one piece. It runs the stream and returns the response of its last event. A background response is
// queued.
func (s *Service) Respond(ctx context.Context, caller string, r ResponseRequest) (Response, error) {
	if isTrue(r.Background) {
		return s.startResponse(ctx, caller, r)
	}
	w := s.newResponseWriter(caller, r, func(string, any) error { return nil })
	err := w.run(ctx)
	return w.response, err
}

// event is one event of a stream by its members.
type event = map[string]any

// responseWriter writes the events of one response, which has one item: the response is created and in progress, the
// item is added, its text or arguments grow and are done, the item is done, and the response is completed, incomplete
// or failed.
type responseWriter struct {
	service  *Service
	caller   string // for the store
	request  ResponseRequest
	plan     tools.Plan
	emit     func(name string, event any) error
	sequence int // number of the next event

	response Response
	itemID   string
	call     ToolCall
	text     strings.Builder
	logprobs *TokenLogprobs
	finish   string
}

func (s *Service) newResponseWriter(
	caller string, r ResponseRequest, emit func(name string, event any) error,
) *responseWriter {
	w := &responseWriter{
		service: s, caller: caller, request: r, plan: r.plan(), emit: emit, response: r.newResponse(),
	}
	w.response.ID = s.newResponseID()
	w.response.CreatedAt = s.now().Unix()
	return w
}

// run writes the response. If it fails before the first event, no engine has been called.
func (w *responseWriter) run(ctx context.Context) (err error) {
	if w.response.Store, err = w.service.willStore(ctx, w.request); err != nil {
		return err
	}
	history, release, err := w.service.history(ctx, w.caller, w.request.PreviousResponseID)
	if err != nil {
		return err
	}
	defer release()
	answer, err := w.service.chat.Answer(ctx, w.request.conversation(w.plan, history))
	if err != nil {
		return err
	}
	w.response.Model = answer.Model
	w.response.setSampling(answer.Sampling())
	if answer.ClampedMaxTokens > 0 {
		w.response.MaxOutputTokens = &answer.ClampedMaxTokens
	}
	started := false
	for chunk, err := range answer.Chunks() {
		if err == nil && !started {
			started = true
			err = w.writeStart()
		}
		if err == nil {
			err = w.writeChunk(chunk)
		}
		if err != nil {
			return err
		}
	}
	return w.writeEnd(ctx, answer)
}

// send emits the next event.
func (w *responseWriter) send(kind string, e event) error {
	e["type"] = kind
	e["sequence_number"] = w.sequence
	w.sequence++
	return w.emit(kind, e)
}

// sendItem emits an event about the one item of the output.
func (w *responseWriter) sendItem(kind string, e event) error {
	e["output_index"] = 0
	return w.send(kind, e)
}

// sendContent emits an event about the item's content: the one part of a message, or the arguments of a call.
func (w *responseWriter) sendContent(kind string, e event) error {
	e["item_id"] = w.itemID
	if !w.isCall() {
		e["content_index"] = 0
	}
	return w.sendItem(kind, e)
}

// isCall reports whether the model writes the arguments of a tool call.
func (w *responseWriter) isCall() bool { return w.plan.Function != "" }

// writeStart sends the events before the first text. The item of an answer that names its tool is added at the end.
func (w *responseWriter) writeStart() error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if err := w.send(kind, event{"response": w.response}); err != nil {
			return err
		}
	}
	if w.plan.AnyTool {
		return nil
	}
	if w.isCall() {
		w.call = ToolCall{ID: newCallID(), Function: FunctionCall{Name: w.plan.Function}}
	}
	return w.addItem()
}

// addItem sends the item without its content.
func (w *responseWriter) addItem() error {
	if w.isCall() {
		w.itemID = "fc_" + randomHex()
		item := newFunctionCall(w.itemID, inProgress, w.call)
		return w.sendItem("response.output_item.added", event{"item": item})
	}
	w.itemID = "msg_" + randomHex()
	item := newMessage(w.itemID, inProgress)
	if err := w.sendItem("response.output_item.added", event{"item": item}); err != nil {
		return err
	}
	return w.sendContent("response.content_part.added", event{"part": newOutputText("", nil)})
}

func (w *responseWriter) writeChunk(c engine.Chunk) error {
	w.text.WriteString(c.Text)
	w.logprobs = appendLogprobs(w.logprobs, c.Logprobs)
	if c.Finish != "" {
		w.finish = c.Finish
	}
	switch {
	case c.Text == "" || w.plan.AnyTool:
		return nil
	case w.isCall():
		return w.sendContent("response.function_call_arguments.delta", event{"delta": c.Text})
	}
	delta := newOutputText(c.Text, appendLogprobs(nil, c.Logprobs))
	return w.sendContent("response.output_text.delta", event{"delta": delta.Text, "logprobs": delta.Logprobs})
}

// writeEnd sends the events after the last text. The response is stored before the last of them.
func (w *responseWriter) writeEnd(ctx context.Context, answer *chat.Answer) error {
	status := completed
	if w.finish == "length" {
		status = incomplete
		w.response.IncompleteDetails = &Incomplete{Reason: "max_output_tokens"}
	}
	if w.plan.AnyTool {
		w.resolveTool()
		if err := w.addItem(); err != nil {
			return err
		}
	}
	item, err := w.writeContent(status)
	if err != nil {
		return err
	}
	if err := w.sendItem("response.output_item.done", event{"item": item}); err != nil {
		return err
	}
	w.response.Status = status
	w.response.Output = []OutputItem{item}
	w.response.Usage = responseUsage(answer)
	if status == completed {
		w.response.CompletedAt = new(w.service.now().Unix())
	}
	w.store(ctx)
	return w.send("response."+string(status), event{"response": w.response})
}

// resolveTool turns a complete text that names its tool into a call of that tool. A truncated text stays a message.
func (w *responseWriter) resolveTool() {
	calls := toolCalls(w.plan, w.text.String())
	if len(calls) == 0 {
		return
	}
	w.call = calls[0]
	w.plan = tools.Plan{Function: w.call.Function.Name}
	w.text.Reset()
	w.text.WriteString(w.call.Function.Arguments)
	w.call.Function.Arguments = ""
}

// writeContent sends the complete content of the item and returns the item.
func (w *responseWriter) writeContent(status Status) (OutputItem, error) {
	text := w.text.String()
	if w.isCall() {
		w.call.Function.Arguments = text
		err := w.sendContent("response.function_call_arguments.done",
			event{"name": w.call.Function.Name, "arguments": text})
		return newFunctionCall(w.itemID, status, w.call), err
	}
	part := newOutputText(text, w.logprobs)
	err := w.sendContent("response.output_text.done", event{"text": text, "logprobs": part.Logprobs})
	if err != nil {
		return OutputItem{}, err
	}
	err = w.sendContent("response.content_part.done", event{"part": part})
	return newMessage(w.itemID, status, part), err
}

// failureEvents returns the last events of a response that fails.
func (w *responseWriter) failureEvents(f *fault.Error) []any {
	w.response.Status = failed
	w.response.Store = false
	w.response.Error = &ResponseError{Code: "server_error", Message: f.Summary()}
	if f.Kind == fault.Invalid {
		w.response.Error.Code = "invalid_prompt"
	}
	last := event{"type": "response.failed", "sequence_number": w.sequence, "response": w.response}
	return []any{last, chat.EndOfStream}
}
