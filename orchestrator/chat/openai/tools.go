package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/wire"
)

// maxTools bounds the tools of one request, and the tool calls of one message.
const maxTools = 128

// ToolList are tools that a request offers, or tool calls of an earlier answer.
type ToolList[T Tool | ToolCall] []T

// UnmarshalJSON decodes a list of objects. It ignores their unknown members.
func (list *ToolList[T]) UnmarshalJSON(data []byte) (err error) {
	*list, err = chat.ReadList(data, maxTools, readObject[T])
	return err
}

// readObject decodes an object whose members are objects or strings.
func readObject[T any](value jsontext.Value) (object T, _ *wire.Mismatch) {
	if err := json.Unmarshal(value, &object); err != nil || value.Kind() != '{' {
		return object, mismatchOf(err)
	}
	return object, nil
}

// mismatchOf converts the error of json.Unmarshal for an object whose members must be objects or strings. If err names
// no member, the value itself is not an object.
func mismatchOf(err error) *wire.Mismatch {
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) || wrongType.Field == "" {
		return wire.NotObject.At()
	}
	var path []any
	for name := range strings.SplitSeq(wrongType.Field, ".") {
		path = append(path, name)
	}
	if wrongType.Type.Kind() == reflect.Struct {
		return wire.NotObject.At(path...)
	}
	return wire.NotString.At(path...)
}

// plan is how an answer is constrained and how its text becomes tool calls. At most one of function, anyTool and
// optional is set; without them the answer is text.
type plan struct {
	guide    *engine.Guide // nil if the answer is not constrained
	function string        // the text is the arguments of this function
	anyTool  bool          // the text names one of several functions and has its arguments
	optional bool          // the model may call tools but need not
}

// plan returns the plan of a valid request. A tool that must be called becomes a guide: the schema of its parameters.
func (r *Request) plan() plan {
	if guides, _ := r.guides(r.NVExt); len(guides) > 0 {
		return plan{guide: guides[0]}
	}
	return planTools(r.Tools, r.ToolChoice)
}

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
	i := max(0, slices.IndexFunc(tools, func(t Tool) bool { return t.Function.Name == name }))
	return plan{
		function: tools[i].Function.Name,
		guide:    &engine.Guide{Field: "tools", Schema: tools[i].schema()},
	}
}

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

// randomHex returns 128 random bits as 32 hexadecimal digits.
func randomHex() string {
	var raw [16]byte
	rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}
