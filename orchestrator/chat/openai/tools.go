package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/chat"
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

// schema returns the JSON schema of a tool's parameters. A tool without one has no parameters.
func (t Tool) schema() json.RawMessage {
	if !isObject(t.Function.Parameters) {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Function.Parameters
}

// anyToolSchema returns the schema of {"name": …, "parameters": …} for a call of any of the tools. The $defs of the
// tools move to its root, where references look for them.
func anyToolSchema(tools []Tool) json.RawMessage {
	definitions := map[string]json.RawMessage{}
	var options []any
	for _, t := range tools {
		parameters := t.schema()
		added := definitionsOf(parameters)
		if conflict(definitions, added) {
			parameters = renameDefinitions(parameters, t.Function.Name)
			added = definitionsOf(parameters)
		}
		maps.Copy(definitions, added)
		options = append(options, map[string]any{
			"type":                 "object",
			"required":             []string{"name", "parameters"},
			"additionalProperties": false,
			"properties": map[string]any{
				"name":       map[string]any{"const": t.Function.Name},
				"parameters": parameters,
			},
		})
	}
	text, _ := json.Marshal(map[string]any{"anyOf": options, "$defs": definitions}) // cannot fail: all of it is JSON
	return text
}

// definitionsOf returns the $defs of a schema by name, nil if it has none.
func definitionsOf(schema json.RawMessage) map[string]json.RawMessage {
	var object struct {
		Definitions map[string]json.RawMessage `json:"$defs"`
	}
	_ = json.Unmarshal(schema, &object) // an invalid schema has no definitions
	return object.Definitions
}

// conflict reports whether two definitions differ under the same name.
func conflict(a, b map[string]json.RawMessage) bool {
	for name, schema := range b {
		if other, exists := a[name]; exists && !bytes.Equal(other, schema) {
			return true
		}
	}
	return false
}

// renameDefinitions prefixes the $defs of a tool's schema, and references to them, with the tool's name.
func renameDefinitions(schema json.RawMessage, tool string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil {
		return schema
	}
	renamed := map[string]json.RawMessage{}
	for name, definition := range definitionsOf(schema) {
		renamed[tool+"."+name] = definition
	}
	var err error
	if members["$defs"], err = json.Marshal(renamed); err != nil {
		return schema
	}
	text, err := json.Marshal(members)
	if err != nil {
		return schema
	}
	return bytes.ReplaceAll(text, []byte(`"#/$defs/`), []byte(`"#/$defs/`+tool+"."))
}
