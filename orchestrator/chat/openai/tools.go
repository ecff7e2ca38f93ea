package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"retort/orchestrator/chat/engine"
)

// maxTools is how many tools one request may offer.
const maxTools = 128

// plan is what the tools of a request and its form come to.
type plan struct {
	guide *engine.Guide // holds the answer to a form; nil is none
	// call is the one function that the answer is a call of: its arguments. With choose the answer names one of
	// several. Neither: the answer is a text.
	call   string
	choose bool
	// offered says that there are tools which the model may call if it sees fit.
	offered bool
}

// plan reads a valid request. A tool that must be called is a form of the answer: the schema of its parameters.
func (r *Request) plan() plan {
	if forms, _ := r.forms(); len(forms) > 0 {
		return plan{guide: forms[0]}
	}
	return planTools(r.Tools, r.ToolChoice, "tools")
}

func planTools(tools []Tool, chosen json.RawMessage, field string) plan {
	choice, name := readChoice(chosen)
	switch {
	case len(tools) == 0 || choice == "none":
		return plan{}
	case choice == "auto":
		return plan{offered: true}
	case choice == "required" && len(tools) > 1:
		return plan{choose: true, guide: &engine.Guide{Field: field, Schema: oneOfTools(tools)}}
	}
	i := max(0, slices.IndexFunc(tools, func(t Tool) bool { return t.Function.Name == name }))
	return plan{call: tools[i].Function.Name, guide: &engine.Guide{Field: field, Schema: parameters(tools[i])}}
}

// readChoice reads tool_choice: "none", "auto", "required" or a function by its name, and "" for what is neither.
func readChoice(raw json.RawMessage) (choice, name string) {
	if !given(raw) {
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
		Name     string // as the Responses API has it
		Function struct{ Name string }
	}
	if json.Unmarshal(raw, &object) != nil || object.Type != "function" {
		return "", ""
	}
	return "function", object.Name + object.Function.Name
}

// parameters is the schema of what a tool takes.
func parameters(t Tool) json.RawMessage {
	if !isObject(t.Function.Parameters) {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Function.Parameters
}

// oneOfTools is the schema of {"name": …, "parameters": …} for one of several tools. Definitions that schemas refer to
// move to its root, where their references look for them.
func oneOfTools(tools []Tool) json.RawMessage {
	definitions := map[string]json.RawMessage{}
	var options []any
	for _, t := range tools {
		var schema struct {
			Defs map[string]json.RawMessage `json:"$defs"`
		}
		taken := parameters(t)
		_ = json.Unmarshal(taken, &schema) // without definitions there is nothing to move
		if clash(definitions, schema.Defs) {
			taken = apart(taken, t.Function.Name)
			schema.Defs = nil // Unmarshal would keep what is there
			_ = json.Unmarshal(taken, &schema)
		}
		maps.Copy(definitions, schema.Defs)
		options = append(options, map[string]any{
			"type": "object", "required": []string{"name", "parameters"}, "additionalProperties": false,
			"properties": map[string]any{"name": map[string]any{"const": t.Function.Name}, "parameters": taken},
		})
	}
	text, _ := json.Marshal(map[string]any{"anyOf": options, "$defs": definitions}) // made of JSON
	return text
}

// clash says that definitions of the same name differ.
func clash(known, more map[string]json.RawMessage) bool {
	for name, schema := range more {
		if old, taken := known[name]; taken && !bytes.Equal(old, schema) {
			return true
		}
	}
	return false
}

// apart gives a tool's definitions, and what refers to them, names that begin with the tool's.
func apart(schema json.RawMessage, tool string) json.RawMessage {
	var members map[string]json.RawMessage
	var definitions map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil || json.Unmarshal(members["$defs"], &definitions) != nil {
		return schema
	}
	renamed := map[string]json.RawMessage{}
	for name, definition := range definitions {
		renamed[tool+"."+name] = definition
	}
	var err error
	members["$defs"], err = json.Marshal(renamed)
	if err != nil {
		return schema
	}
	text, err := json.Marshal(members)
	if err != nil {
		return schema
	}
	return bytes.ReplaceAll(text, []byte(`"#/$defs/`), []byte(`"#/$defs/`+tool+"."))
}

// calls are the calls that a text is, nil where the answer is the text itself.
func (p plan) calls(text string) []ToolCall {
	call := ToolCall{ID: newCallID(), Type: "function", Function: FunctionCall{Name: p.call, Arguments: text}}
	if p.choose {
		var chosen struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		}
		if json.Unmarshal([]byte(text), &chosen) != nil || chosen.Name == "" {
			return nil // the answer was cut off before it named a tool
		}
		var compact bytes.Buffer
		if json.Compact(&compact, chosen.Parameters) != nil {
			return nil
		}
		call.Function = FunctionCall{Name: chosen.Name, Arguments: compact.String()}
	}
	if call.Function.Name == "" {
		return nil
	}
	return []ToolCall{call}
}

// newCallID returns an id that no other call has.
func newCallID() string { return "call_" + randomHex() }

func randomHex() string {
	var raw [16]byte
	rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}
