package engine

import (
	"encoding/json"

	"retort/orchestrator/fault"
)

// MaxGuideBytes bounds the text of a schema, grammar or regular expression, because engines compile it before they
// answer.
const MaxGuideBytes = 64 << 10

// Guide is a constraint on the text of an answer. One of Schema, Object, Regex, Choice and Grammar is set.
type Guide struct {
	Field   string          // member of the HTTP request that has the guide; faults name it
	Schema  json.RawMessage // a JSON schema
	Object  bool            // any JSON object
	Regex   string
	Choice  []string
	Grammar string // in EBNF
}

const (
	guideSetting    = "structured_outputs" // name of Guide as a setting
	oldGuideSetting = "guided_decoding"    // name in vLLM's backends before 2026
)

// forVLLM returns the guide as the JSON text that vLLM's backend expects.
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

// forTensorRT returns the guide's type and text for TensorRT-LLM's ensemble. ok is false if the ensemble has no such
// type.
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

// guideUnsupported returns the fault of a guide that the model does not support, in vLLM's words.
func guideUnsupported(g *Guide) *fault.Error {
	return &fault.Error{
		Kind: fault.Invalid, Path: []any{g.Field},
		Message: g.Field + " is not supported: guided decoding is not enabled for this model",
	}
}
