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

// responseWriter writes the events of one response: the response is created and in progress; each of its items, a
// message or a call, is added, grows and is done; and the response is completed, incomplete or failed.
type responseWriter struct {
	service  *Service
	caller   string // for the store
	request  ResponseRequest
	emit     func(name string, event any) error
	sequence int // number of the next event

	response Response
	item     *openItem // nil between items
	logprobs []engine.Logprob
	finish   string
}

// openItem is the item that is being written.
type openItem struct {
	id       string
	call     ToolCall // without a name for a message
	text     strings.Builder
	logprobs *TokenLogprobs
}

func (item *openItem) isCall() bool { return item.call.Function.Name != "" }

func (s *Service) newResponseWriter(
	caller string, r ResponseRequest, emit func(name string, event any) error,
) *responseWriter {
	w := &responseWriter{
		service: s, caller: caller, request: r, emit: emit, response: r.newResponse(),
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
	answer, err := w.service.chat.Answer(ctx, w.request.conversation(w.request.plan(), history))
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

// sendItem emits an event about the open item.
func (w *responseWriter) sendItem(kind string, e event) error {
	e["output_index"] = len(w.response.Output)
	return w.send(kind, e)
}

// sendContent emits an event about the item's content: the one part of a message, or the arguments of a call.
func (w *responseWriter) sendContent(kind string, e event) error {
	e["item_id"] = w.item.id
	if !w.item.isCall() {
		e["content_index"] = 0
	}
	return w.sendItem(kind, e)
}

// writeStart sends the events before the first item.
func (w *responseWriter) writeStart() error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if err := w.send(kind, event{"response": w.response}); err != nil {
			return err
		}
	}
	return nil
}

// addItem begins a call of a tool or, if the name is "", a message.
func (w *responseWriter) addItem(name string) error {
	if name != "" {
		w.item = &openItem{id: "fc_" + randomHex(), call: newToolCall(name)}
		item := newFunctionCall(w.item.id, inProgress, w.item.call)
		return w.sendItem("response.output_item.added", event{"item": item})
	}
	w.item = &openItem{id: "msg_" + randomHex()}
	item := newMessage(w.item.id, inProgress)
	if err := w.sendItem("response.output_item.added", event{"item": item}); err != nil {
		return err
	}
	return w.sendContent("response.content_part.added", event{"part": newOutputText("", nil)})
}

func (w *responseWriter) writeChunk(c chat.Chunk) error {
	w.logprobs = append(w.logprobs, c.Logprobs...)
	if c.Finish != "" {
		w.finish = c.Finish
	}
	for _, delta := range c.Deltas {
		if err := w.writeDelta(delta); err != nil {
			return err
		}
	}
	return nil
}

// writeDelta ends the open item if the delta belongs to another one, and sends the delta.
func (w *responseWriter) writeDelta(d tools.Delta) error {
	if w.item != nil && (d.Name != "" || d.IsText() == w.item.isCall()) {
		if err := w.endItem(completed); err != nil {
			return err
		}
	}
	if w.item == nil {
		if err := w.addItem(d.Name); err != nil {
			return err
		}
	}
	logprobs := w.logprobs
	w.logprobs = nil
	if !d.IsText() {
		if d.Arguments == "" {
			return nil
		}
		w.item.text.WriteString(d.Arguments)
		return w.sendContent("response.function_call_arguments.delta", event{"delta": d.Arguments})
	}
	w.item.text.WriteString(d.Text)
	w.item.logprobs = appendLogprobs(w.item.logprobs, logprobs)
	delta := newOutputText(d.Text, appendLogprobs(nil, logprobs))
	return w.sendContent("response.output_text.delta", event{"delta": delta.Text, "logprobs": delta.Logprobs})
}

// writeEnd sends the events after the last text. The response is stored before the last of them.
func (w *responseWriter) writeEnd(ctx context.Context, answer *chat.Answer) error {
	status := completed
	if w.finish == "length" {
		status = incomplete
		w.response.IncompleteDetails = &Incomplete{Reason: "max_output_tokens"}
	}
	if w.item == nil { // an empty answer
		if err := w.addItem(""); err != nil {
			return err
		}
	}
	if err := w.endItem(status); err != nil {
		return err
	}
	w.response.Status = status
	w.response.Usage = responseUsage(answer)
	if status == completed {
		w.response.CompletedAt = new(w.service.now().Unix())
	}
	w.store(ctx)
	return w.send("response."+string(status), event{"response": w.response})
}

// endItem sends the complete content of the open item, and the item.
func (w *responseWriter) endItem(status Status) error {
	item, err := w.writeContent(status)
	if err != nil {
		return err
	}
	if err := w.sendItem("response.output_item.done", event{"item": item}); err != nil {
		return err
	}
	w.response.Output = append(w.response.Output, item)
	w.item = nil
	return nil
}

// writeContent sends the complete content of the open item and returns the item.
func (w *responseWriter) writeContent(status Status) (OutputItem, error) {
	text := w.item.text.String()
	if w.item.isCall() {
		w.item.call.Function.Arguments = text
		err := w.sendContent("response.function_call_arguments.done",
			event{"name": w.item.call.Function.Name, "arguments": text})
		return newFunctionCall(w.item.id, status, w.item.call), err
	}
	part := newOutputText(text, w.item.logprobs)
	err := w.sendContent("response.output_text.done", event{"text": text, "logprobs": part.Logprobs})
	if err != nil {
		return OutputItem{}, err
	}
	err = w.sendContent("response.content_part.done", event{"part": part})
	return newMessage(w.item.id, status, part), err
}

// failureEvent returns the name and the data of the last event of a response that fails.
func (w *responseWriter) failureEvent(f *fault.Error) (name string, last event) {
	w.response.Status = failed
	w.response.Store = false
	w.response.Error = &ResponseError{Code: "server_error", Message: f.Summary()}
	if f.Kind == fault.Invalid {
		w.response.Error.Code = "invalid_prompt"
	}
	name = "response.failed"
	return name, event{"type": name, "sequence_number": w.sequence, "response": w.response}
}
