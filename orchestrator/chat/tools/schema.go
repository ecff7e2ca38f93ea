package tools

import (
	"bytes"
	"encoding/json"
	"maps"
)

// schema returns the JSON schema of a tool's parameters. A tool without one has no parameters.
func (t Tool) schema() json.RawMessage {
	if !IsObject(t.Parameters) {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

// anySchema returns the schema of {"name": …, "parameters": …} for a call of any of the tools. The $defs of the
// tools move to its root, where references look for them.
func anySchema(list []Tool) json.RawMessage {
	definitions := map[string]json.RawMessage{}
	var options []any
	for _, t := range list {
		parameters := t.schema()
		added := definitionsOf(parameters)
		if conflict(definitions, added) {
			parameters = renameDefinitions(parameters, t.Name)
			added = definitionsOf(parameters)
		}
		maps.Copy(definitions, added)
		options = append(options, map[string]any{
			"type":                 "object",
			"required":             []string{"name", "parameters"},
			"additionalProperties": false,
			"properties": map[string]any{
				"name":       map[string]any{"const": t.Name},
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

// IsObject reports whether a JSON value is an object.
func IsObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }
