package chat

import (
	"context"
	"encoding/json"
	"strings"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/telemetry"
)

// StackRequest is the body of the stack-style interface, in the form of autumn
// 2024 and in the newer one, which renames model and types the parts.
type StackRequest struct {
	Model    string         `json:"model"`
	ModelID  string         `json:"model_id"` // newer name of model
	Messages []StackMessage `json:"messages" bind:"required"`
	Sampling *StackSampling `json:"sampling_params" bind:"nullable"`
	Stream   *bool          `json:"stream" bind:"nullable"`
	Logprobs *StackLogprobs `json:"logprobs" bind:"nullable"`

	Tools            []json.RawMessage `json:"tools" bind:"nullable"`
	ToolChoice       json.RawMessage   `json:"tool_choice" bind:"nullable"`        // means nothing without tools
	ToolPromptFormat json.RawMessage   `json:"tool_prompt_format" bind:"nullable"` // likewise
	ToolConfig       json.RawMessage   `json:"tool_config" bind:"nullable"`        // likewise
	ResponseFormat   json.RawMessage   `json:"response_format" bind:"nullable"`
}

// StackMessage is one turn. Roles: system, user, assistant.
type StackMessage struct {
	Role       string            `json:"role" bind:"required"`
	Content    StackContent      `json:"content" bind:"required"`
	Context    StackContent      `json:"context" bind:"nullable"`     // of a user message: put behind it
	StopReason *string           `json:"stop_reason" bind:"nullable"` // of an answer sent back; ignored
	ToolCalls  []json.RawMessage `json:"tool_calls" bind:"nullable"`
	CallID     *string           `json:"call_id" bind:"nullable"`
	ToolName   json.RawMessage   `json:"tool_name" bind:"nullable"`
}

// StackSampling says how the answer is chosen.
type StackSampling struct {
	Strategy          Strategy `json:"strategy" bind:"nullable"`
	Temperature       *float64 `json:"temperature" bind:"nullable"`
	TopP              *float64 `json:"top_p" bind:"nullable"`
	TopK              *int     `json:"top_k" bind:"nullable"`
	MaxTokens         *int     `json:"max_tokens" bind:"nullable"` // 0 is no limit
	RepetitionPenalty *float64 `json:"repetition_penalty" bind:"nullable"`
	Stop              Stops    `json:"stop" bind:"nullable"`
}

// StackLogprobs asks for log probabilities.
type StackLogprobs struct {
	TopK *int `json:"top_k" bind:"nullable"`
}

// StackResponse is the whole answer.
type StackResponse struct {
	CompletionMessage StackAnswer     `json:"completion_message"`
	Logprobs          *[]StackLogprob `json:"logprobs"` // null unless asked for
}

// StackAnswer is what the model wrote.
type StackAnswer struct {
	Role       string     `json:"role"` // "assistant"
	Content    string     `json:"content"`
	StopReason string     `json:"stop_reason"` // "end_of_turn" or "out_of_tokens"
	ToolCalls  []struct{} `json:"tool_calls"`  // always empty
}

// StackLogprob is the log probability of each token that was likely at one
// place.
type StackLogprob struct {
	ByToken map[string]float64 `json:"logprobs_by_token"`
}

// StackEvent is one event of a streamed answer.
type StackEvent struct {
	Event StackProgress `json:"event"`
}

// StackProgress is "start", then "progress" with text, then "complete" with a
// stop reason. Delta is a string, and {"type": "text", "text": …} in the newer
// form.
type StackProgress struct {
	Type       string          `json:"event_type"`
	Delta      any             `json:"delta"`
	Logprobs   *[]StackLogprob `json:"logprobs"`
	StopReason *string         `json:"stop_reason"`
}

// TypedDelta is new text in the newer form.
type TypedDelta struct {
	Type string `json:"type"` // "text"
	Text string `json:"text"`
}

// Streams reports whether the answer is wanted as events. Only the body
// counts: a client in use accepts text/event-stream always.
func (r StackRequest) Streams() bool { return isTrue(r.Stream) }

// Stack answers in one piece.
func (s *Service) Stack(ctx context.Context, r StackRequest) (StackResponse, error) {
	m, p, err := s.prepare(ctx, r.conversation())
	if err != nil {
		return StackResponse{}, err
	}
	var text strings.Builder
	var all []Logprob
	res := StackResponse{CompletionMessage: StackAnswer{Role: "assistant", ToolCalls: []struct{}{}}}
	tally := tally{model: m, input: p.InputTokens}
	for chunk, err := range m.generate(ctx, p) {
		if err != nil {
			return StackResponse{}, err
		}
		tally.add(chunk)
		text.WriteString(chunk.Text)
		all = append(all, chunk.Logprobs...)
		if chunk.Finish != "" {
			res.CompletionMessage.StopReason = stopReason(chunk.Finish)
		}
	}
	res.CompletionMessage.Content, res.Logprobs = text.String(), stackLogprobs(all)
	telemetry.FromContext(ctx).AddTokens(tally.output)
	return res, nil
}

// StreamStack answers as events, without [DONE].
func (s *Service) StreamStack(typed bool) func(context.Context, StackRequest, *gateway.Events) error {
	return func(ctx context.Context, r StackRequest, events *gateway.Events) error {
		m, p, err := s.prepare(ctx, r.conversation())
		if err != nil {
			return err
		}
		w := &stackWriter{events: events, typed: typed}
		tally := tally{model: m, input: p.InputTokens}
		for chunk, err := range m.generate(ctx, p) {
			if err == nil {
				tally.add(chunk)
				err = w.write(chunk)
			}
			if err != nil {
				return &gateway.Ending{Err: err, Events: stackFault}
			}
		}
		telemetry.FromContext(ctx).AddTokens(tally.output)
		return nil
	}
}

// stackFault words a failure within a stream.
func stackFault(f *fault.Error) []any {
	return []any{map[string]any{"error": map[string]string{"message": message(f)}}}
}

type stackWriter struct {
	events *gateway.Events
	typed  bool
	begun  bool
}

func (w *stackWriter) write(c Chunk) error {
	if !w.begun {
		w.begun = true
		if err := w.send("start", "", nil, nil); err != nil {
			return err
		}
	}
	if c.Text != "" || len(c.Logprobs) > 0 {
		if err := w.send("progress", c.Text, c.Logprobs, nil); err != nil {
			return err
		}
	}
	if c.Finish == "" {
		return nil
	}
	reason := stopReason(c.Finish)
	return w.send("complete", "", nil, &reason)
}

func (w *stackWriter) send(kind, text string, logprobs []Logprob, reason *string) error {
	progress := StackProgress{Type: kind, Delta: text, Logprobs: stackLogprobs(logprobs), StopReason: reason}
	if w.typed {
		progress.Delta = TypedDelta{Type: "text", Text: text}
	}
	return w.events.Send(StackEvent{progress})
}

// stopReason is the finish reason in the words of this interface.
func stopReason(finish string) string {
	if finish == "length" {
		return "out_of_tokens"
	}
	return "end_of_turn"
}

// stackLogprobs is nil, which is null, for none.
func stackLogprobs(all []Logprob) *[]StackLogprob {
	if len(all) == 0 {
		return nil
	}
	out := make([]StackLogprob, len(all))
	for i, l := range all {
		out[i].ByToken = map[string]float64{l.Token: floored(l.Logprob)}
		for _, other := range l.Top {
			out[i].ByToken[other.Token] = floored(other.Logprob)
		}
	}
	return &out
}
