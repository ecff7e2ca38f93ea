// Package tools lets a model call functions, in one of two ways.
//
// A tool that must be called is a guide with the schema of its parameters, and the text that follows the guide is the
// arguments of the call. For example, the tool "weather" makes the model write {"city": "Oslo"}, and the answer is a
// call of weather with these arguments. If one of several tools must be called, the text names it too.
//
// A tool that may be called is described in the prompt by the model's chat template, and a parser of the [Format] of
// the model's family finds calls in the answer. What is no valid call of an offered tool stays text.
//
// Terms:
//
//	call       the name of a tool and arguments for it, a JSON object
//	marker     the text that begins a call in a format
//	candidate  a marker and the text after it, until it is known to be a call or not
package tools

import (
	"encoding/json"
	"slices"

	"retort/orchestrator/chat/engine"
)

// Max is the maximum number of tools of one request.
const Max = 128

// Tool is a function that a model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON schema; any other value means no parameters
}

// Plan is how an answer calls tools. At most one of Function, AnyTool and Optional is set; without them the answer is
// text.
type Plan struct {
	Tools    []Tool        // that the answer may call
	Guide    *engine.Guide // nil if the answer is not constrained
	Function string        // the text is the arguments of this function
	AnyTool  bool          // the text names one of several functions and has its arguments
	Optional bool          // the model may call tools but need not
	Single   bool          // only the first call counts
}

// NewPlan returns the plan of an answer with tools. The choice is "none", "auto", "required", or "function" with the
// name of a tool.
func NewPlan(tools []Tool, choice, name string) Plan {
	switch {
	case len(tools) == 0 || choice == "none":
		return Plan{}
	case choice == "auto":
		return Plan{Tools: tools, Optional: true}
	case choice == "required" && len(tools) > 1:
		return Plan{Tools: tools, AnyTool: true, Guide: &engine.Guide{Field: "tools", Schema: anySchema(tools)}}
	}
	isNamed := func(t Tool) bool { return t.Name == name }
	i := max(0, slices.IndexFunc(tools, isNamed)) // "required" names none and means the only tool
	return Plan{
		Tools:    tools,
		Function: tools[i].Name,
		Guide:    &engine.Guide{Field: "tools", Schema: tools[i].schema()},
	}
}

// Delta is new text of an answer, or a part of a call. A delta with a name begins a call, to which the arguments of the
// deltas that follow belong until there is text or another name.
type Delta struct {
	Text      string
	Name      string
	Arguments string // JSON text
}

// IsText reports whether the delta is no part of a call.
func (d Delta) IsText() bool { return d.Name == "" && d.Arguments == "" }

// Reader turns the text of one answer into deltas, the same ones however the text is divided, but for where texts and
// the arguments of a Plan.Function are cut.
type Reader struct {
	plan    Plan
	started bool
	text    []byte // of an answer that names its tool
	parser  *parser
}

// NewReaders returns a reader for each of n answers.
func (p Plan) NewReaders(n int, f Format) []*Reader {
	readers := make([]*Reader, n)
	for i := range readers {
		readers[i] = p.NewReader(f)
	}
	return readers
}

// NewReader returns a reader for an answer of a model that writes calls in a format.
func (p Plan) NewReader(f Format) *Reader {
	r := &Reader{plan: p}
	if p.Optional && f.HasCalls() {
		r.parser = newParser(f, p)
	}
	return r
}

// Read returns the deltas of new text. last says that the answer ends with it.
func (r *Reader) Read(text string, last bool) []Delta {
	started := r.started
	r.started = true
	switch {
	case r.parser != nil:
		return r.parser.read(text, last)
	case r.plan.AnyTool:
		return r.readAny(text, last)
	case r.plan.Function != "" && !started:
		return []Delta{{Name: r.plan.Function, Arguments: text}}
	case text == "":
		return nil
	case r.plan.Function != "":
		return []Delta{{Arguments: text}}
	}
	return []Delta{{Text: text}}
}

// readAny returns the call of an answer that names its tool, once the answer is complete. A truncated one is text.
func (r *Reader) readAny(text string, last bool) []Delta {
	r.text = append(r.text, text...)
	if !last || len(r.text) == 0 {
		return nil
	}
	if call, ok := readCall(r.text, r.plan.Tools); ok {
		return []Delta{call}
	}
	return []Delta{{Text: string(r.text)}}
}
