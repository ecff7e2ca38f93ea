package engine

import (
	"encoding/json"

	"retort/orchestrator/fault"
)

// Guide is the form that an answer must have. One of Schema, Object, Regex, Choice and Grammar is set.
type Guide struct {
	// Field is the member of the request that asks for the form, for a refusal.
	Field string
	// Schema is a JSON schema.
	Schema json.RawMessage
	// Object is any JSON object.
	Object  bool
	Regex   string
	Choice  []string
	Grammar string // in EBNF
}

// guideSetting is the setting's name, among those of Sampling, and vLLM's name of it. oldGuideSetting is its name in
// backends before 2026.
const (
	guideSetting    = "structured_outputs"
	oldGuideSetting = "guided_decoding"
)

// forVLLM is the JSON text that vLLM's backend takes.
func (g *Guide) forVLLM() (string, error) {
	text, err := json.Marshal(struct {
		JSON    json.RawMessage `json:"json,omitempty"`
		Object  bool            `json:"json_object,omitempty"`
		Regex   string          `json:"regex,omitempty"`
		Choice  []string        `json:"choice,omitempty"`
		Grammar string          `json:"grammar,omitempty"`
	}{g.Schema, g.Object, g.Regex, g.Choice, g.Grammar})
	return string(text), err
}

// forTensorRT is the kind and the text that TensorRT-LLM's ensemble takes; ok is false for a form that it does not know.
func (g *Guide) forTensorRT() (kind, text string, ok bool) {
	switch {
	case g.Schema != nil:
		return "json_schema", string(g.Schema), true
	case g.Object:
		return "json", "", true
	case g.Regex != "":
		return "regex", g.Regex, true
	case g.Grammar != "":
		return "ebnf_grammar", g.Grammar, true
	}
	return "", "", false
}

// guideUnsupported refuses a form, in the words of a vLLM that cannot hold answers to one.
func guideUnsupported(g *Guide) *fault.Error {
	return &fault.Error{
		Kind: fault.Invalid, Path: []any{g.Field},
		Message: g.Field + " is not supported: guided decoding is not enabled for this model",
	}
}
