package tools

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readCall decodes {"name": …, "arguments": {…}}, in which "parameters" may replace "arguments", as a call of one of the
// tools. Models of some families add a type or an id, which are ignored. ok is false if the JSON text is anything else.
func readCall(text jsontext.Value, tools []Tool) (call Delta, ok bool) {
	var object struct {
		Name       string         `json:"name"`
		Arguments  jsontext.Value `json:"arguments"`
		Parameters jsontext.Value `json:"parameters"`
		Type       any            `json:"type"`
		ID         any            `json:"id"`
	}
	if json.Unmarshal(text, &object, json.RejectUnknownMembers(true)) != nil {
		return Delta{}, false
	}
	arguments := object.Arguments
	if arguments == nil {
		arguments = object.Parameters
	} else if object.Parameters != nil {
		return Delta{}, false
	}
	return newCall(object.Name, arguments, tools)
}

// newCall returns a call of one of the tools. ok is false if there is no such tool, or if the arguments are not a valid
// object of JSON, in which names are unique and texts are Unicode (RFC 7493).
func newCall(name string, arguments jsontext.Value, tools []Tool) (call Delta, ok bool) {
	isNamed := func(t Tool) bool { return t.Name == name }
	isObject := arguments.Kind() == '{' && arguments.IsValid()
	if !isObject || !slices.ContainsFunc(tools, isNamed) || arguments.Compact() != nil {
		return Delta{}, false
	}
	return Delta{Name: name, Arguments: string(arguments)}, true
}
