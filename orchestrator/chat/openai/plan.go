package openai

import (
	"encoding/json"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
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

// planTools returns the plan of an answer with tools.
func planTools(list []Tool, toolChoice json.RawMessage) plan {
	functions := make([]tools.Tool, len(list))
	for i, t := range list {
		functions[i] = tools.Tool{Name: t.Function.Name, Parameters: t.Function.Parameters}
	}
	choice, name := readChoice(toolChoice)
	p := tools.NewPlan(functions, choice, name)
	return plan{guide: p.Guide, function: p.Function, anyTool: p.AnyTool, optional: p.Optional}
}

// toolCalls returns the tool calls in the text of an answer, nil if it is plain text.
func (p plan) toolCalls(text string) []ToolCall {
	name, arguments, ok := tools.Plan{Function: p.function, AnyTool: p.anyTool}.Call(text)
	if !ok {
		return nil
	}
	return []ToolCall{{ID: newCallID(), Type: "function", Function: FunctionCall{Name: name, Arguments: arguments}}}
}

func newCallID() string { return "call_" + randomHex() }
