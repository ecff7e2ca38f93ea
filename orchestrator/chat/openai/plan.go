package openai

import (
	"bytes"
	"encoding/json"
	"slices"

	"retort/orchestrator/chat/engine"
)

// plan is how an answer is constrained and how its text becomes tool calls. At most one of function, anyTool and
// optional is set; without them the answer is text.
type plan struct {
	guide    *engine.Guide // nil if the answer is not constrained
	function string        // the text is the arguments of this function
	anyTool  bool          // the text names one of several functions and has its arguments
	optional bool          // the model may call tools but need not
}

// plan returns the plan of a valid request. It has the request's guide, else a plan for its tools.
func (r *ChatRequest) plan() plan {
	if guides, _ := r.guides(r.NVExt); len(guides) > 0 {
		return plan{guide: guides[0]}
	}
	return planTools(r.Tools, r.ToolChoice)
}

// plan returns the plan of a valid request. It has the guide of the text's format, else a plan for its tools.
func (r *ResponseRequest) plan() plan {
	switch f := r.format(); f.Type {
	case "json_object":
		return plan{guide: &engine.Guide{Field: "text", Object: true}}
	case "json_schema":
		return plan{guide: &engine.Guide{Field: "text", Schema: f.Schema}}
	}
	tools := make([]Tool, len(r.Tools))
	for i, t := range r.Tools {
		tools[i] = Tool{Type: t.Type, Function: Function{Name: t.Name, Parameters: t.Parameters}}
	}
	return planTools(tools, r.ToolChoice)
}

// planTools returns the plan of an answer with tools. A tool that must be called becomes a guide: the schema of its
// parameters.
func planTools(tools []Tool, toolChoice json.RawMessage) plan {
	choice, name := readChoice(toolChoice)
	switch {
	case len(tools) == 0 || choice == "none":
		return plan{}
	case choice == "auto":
		return plan{optional: true}
	case choice == "required" && len(tools) > 1:
		return plan{anyTool: true, guide: &engine.Guide{Field: "tools", Schema: anyToolSchema(tools)}}
	}
	isNamed := func(t Tool) bool { return t.Function.Name == name }
	i := max(0, slices.IndexFunc(tools, isNamed)) // "required" names none and means the only tool
	return plan{
		function: tools[i].Function.Name,
		guide:    &engine.Guide{Field: "tools", Schema: tools[i].schema()},
	}
}

// toolCalls returns the tool calls in the text of an answer, nil if it is plain text.
func (p plan) toolCalls(text string) []ToolCall {
	function := FunctionCall{Name: p.function, Arguments: text}
	if p.anyTool {
		var object struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		}
		if json.Unmarshal([]byte(text), &object) != nil {
			return nil // truncated
		}
		var compact bytes.Buffer
		if json.Compact(&compact, object.Parameters) != nil {
			return nil
		}
		function = FunctionCall{Name: object.Name, Arguments: compact.String()}
	}
	if function.Name == "" {
		return nil
	}
	return []ToolCall{{ID: newCallID(), Type: "function", Function: function}}
}

func newCallID() string { return "call_" + randomHex() }
