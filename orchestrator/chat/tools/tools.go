// Package tools lets a model call functions through a constraint on its answer. A tool that must be called is a guide
// with the schema of its parameters, and the text that follows the guide is the arguments of the call. For example, the
// tool "weather" makes the model write {"city": "Oslo"}, and the answer is a call of weather with these arguments. If
// one of several tools must be called, the text names it too.
package tools

import (
	"bytes"
	"encoding/json"
	"slices"

	"retort/orchestrator/chat/engine"
)

// Max is the maximum number of tools of one request.
const Max = 128

// Tool is a function that a model may call.
type Tool struct {
	Name       string
	Parameters json.RawMessage // a JSON schema; any other value means no parameters
}

// Plan is how an answer is constrained so that it calls tools. At most one of Function, AnyTool and Optional is set;
// without them the answer is text.
type Plan struct {
	Guide    *engine.Guide // nil if the answer is not constrained
	Function string        // the text is the arguments of this function
	AnyTool  bool          // the text names one of several functions and has its arguments
	Optional bool          // the model may call tools but need not
}

// NewPlan returns the plan of an answer with tools. The choice is "none", "auto", "required", or "function" with the
// name of a tool.
func NewPlan(tools []Tool, choice, name string) Plan {
	switch {
	case len(tools) == 0 || choice == "none":
		return Plan{}
	case choice == "auto":
		return Plan{Optional: true}
	case choice == "required" && len(tools) > 1:
		return Plan{AnyTool: true, Guide: &engine.Guide{Field: "tools", Schema: anySchema(tools)}}
	}
	isNamed := func(t Tool) bool { return t.Name == name }
	i := max(0, slices.IndexFunc(tools, isNamed)) // "required" names none and means the only tool
	return Plan{
		Function: tools[i].Name,
		Guide:    &engine.Guide{Field: "tools", Schema: tools[i].schema()},
	}
}

// Call returns the function that the text of an answer calls, and its arguments as JSON text. ok is false if the text
// is no call.
func (p Plan) Call(text string) (name, arguments string, ok bool) {
	if !p.AnyTool {
		return p.Function, text, p.Function != ""
	}
	var object struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal([]byte(text), &object) != nil || object.Name == "" {
		return "", "", false // truncated
	}
	var compact bytes.Buffer
	if json.Compact(&compact, object.Parameters) != nil {
		return "", "", false
	}
	return object.Name, compact.String(), true
}
