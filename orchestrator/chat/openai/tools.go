package openai

import (
	"cmp"
	"encoding/json"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/wire"
)

// maxTools bounds the tools of one request, and the tool calls of one message.
const maxTools = tools.Max

// ToolList are tools that a request offers, or tool calls of an earlier answer.
type ToolList[T Tool | ToolCall] []T

// UnmarshalJSON decodes a list of objects. It ignores their unknown members.
func (list *ToolList[T]) UnmarshalJSON(data []byte) (err error) {
	*list, err = chat.ReadList(data, maxTools, chat.ReadStruct[T])
	return err
}

func mismatchOf(err error) *wire.Mismatch { return chat.MismatchOf(err) }

// readChoice decodes tool_choice: "none", "auto" (the default), "required", or "function" with the function's name. The
// choice is "" if it is invalid.
func readChoice(raw json.RawMessage) (choice, name string) {
	if !chat.IsSet(raw) {
		return "auto", ""
	}
	if json.Unmarshal(raw, &choice) == nil {
		if choice != "none" && choice != "auto" && choice != "required" {
			return "", ""
		}
		return choice, ""
	}
	var object struct {
		Type     string
		Name     string // in the Responses API
		Function struct{ Name string }
	}
	if json.Unmarshal(raw, &object) != nil || object.Type != "function" {
		return "", ""
	}
	return "function", object.Name + object.Function.Name
}

// plan returns the plan of a valid request. It has the request's guide, else a plan for its tools.
func (r *ChatRequest) plan() tools.Plan {
	if guides, _ := r.guides(r.NVExt); len(guides) > 0 {
		return tools.Plan{Guide: guides[0]}
	}
	functions := make([]tools.Tool, len(r.Tools))
	for i, t := range r.Tools {
		functions[i] = tools.Tool{
			Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters,
		}
	}
	choice, name := readChoice(r.ToolChoice)
	plan := tools.NewPlan(functions, choice, name)
	plan.Single = r.ParallelToolCalls != nil && !*r.ParallelToolCalls
	return plan
}

// plan returns the plan of a valid request. It has the guide of the text's format, else a plan for its tools.
func (r *ResponseRequest) plan() tools.Plan {
	switch f := r.format(); f.Type {
	case "json_object":
		return tools.Plan{Guide: &engine.Guide{Field: "text", Object: true}}
	case "json_schema":
		return tools.Plan{Guide: &engine.Guide{Field: "text", Schema: f.Schema}}
	}
	functions := make([]tools.Tool, len(r.Tools))
	for i, t := range r.Tools {
		functions[i] = tools.Tool{Name: t.Name, Description: *cmp.Or(t.Description, new("")), Parameters: t.Parameters}
	}
	choice, name := readChoice(r.ToolChoice)
	plan := tools.NewPlan(functions, choice, name)
	plan.Single = r.ParallelToolCalls != nil && !*r.ParallelToolCalls
	return plan
}

// newToolCall returns a call without its arguments.
func newToolCall(name string) ToolCall {
	return ToolCall{ID: newCallID(), Type: "function", Function: FunctionCall{Name: name}}
}

// textJoiner joins the texts of a choice before and after calls, because a chat completion has one text.
type textJoiner struct {
	hasText   bool
	afterCall bool // and after text
}

// next returns the text of a delta, with a line break before text that follows a call.
func (j *textJoiner) next(d tools.Delta) string {
	switch {
	case !d.IsText():
		j.afterCall = j.hasText
		return ""
	case d.Text == "":
		return ""
	case j.afterCall:
		d.Text = "\n" + d.Text
	}
	j.hasText = true
	j.afterCall = false
	return d.Text
}

func newCallID() string { return "call_" + randomHex() }
