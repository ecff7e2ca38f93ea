package openai

import (
	"bytes"
	"encoding/json"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/fault"
)

// maxForm bounds the text of a schema, grammar or regular expression, in bytes: engines compile it before they answer.
const maxForm = 64 << 10

// forms are the forms that the request asks for by members of their own: response_format, and vLLM's and NIM's
// extensions. Tools that must be called are one more: see plan.
func (r *Request) forms() (forms []*engine.Guide, problem *fault.Error) {
	if f := r.ResponseFormat; f != nil {
		switch {
		case f.Type == "json_object":
			forms = append(forms, &engine.Guide{Field: "response_format", Object: true})
		case f.Type == "json_schema" && (f.Schema == nil || !isObject(f.Schema.Schema)):
			return nil, chat.Refuse(nil, []any{"response_format", "json_schema"}, "response_format json_schema needs a schema, which is an object")
		case f.Type == "json_schema":
			forms = append(forms, &engine.Guide{Field: "response_format", Schema: f.Schema.Schema})
		}
	}
	own := guided{JSON: r.GuidedJSON, Regex: r.GuidedRegex, Choice: r.GuidedChoice, Grammar: r.GuidedGrammar}
	for _, one := range []struct {
		field string
		raw   json.RawMessage
	}{{"structured_outputs", r.StructuredOutputs}, {"nvext", r.NVExt}} {
		if given(one.raw) {
			var inner guided
			decoder := json.NewDecoder(bytes.NewReader(one.raw))
			decoder.DisallowUnknownFields()
			if decoder.Decode(&inner) != nil {
				return nil, chat.Refuse(nil, []any{one.field}, "%s is not supported with these members", one.field)
			}
			if forms, problem = inner.add(forms, one.field, ""); problem != nil {
				return nil, problem
			}
		}
	}
	return own.add(forms, "", "guided_")
}

// guided are vLLM's members for the form of an answer, under their older and newer names.
type guided struct {
	JSON       json.RawMessage `json:"guided_json"`
	Regex      json.RawMessage `json:"guided_regex"`
	Choice     json.RawMessage `json:"guided_choice"`
	Grammar    json.RawMessage `json:"guided_grammar"`
	NewJSON    json.RawMessage `json:"json"`
	NewRegex   json.RawMessage `json:"regex"`
	NewChoice  json.RawMessage `json:"choice"`
	NewGrammar json.RawMessage `json:"grammar"`
	Object     *bool           `json:"json_object"`
}

// add appends the forms that are given. field is the member that holds them, "" where each is a member of its own.
func (g *guided) add(forms []*engine.Guide, field, prefix string) ([]*engine.Guide, *fault.Error) {
	named := func(name string) string {
		if field != "" {
			return field
		}
		return prefix + name
	}
	bad := func(name string) *fault.Error {
		return chat.Refuse(nil, []any{named(name)}, "%s is not of a form that can be read", named(name))
	}
	if isTrue(g.Object) {
		forms = append(forms, &engine.Guide{Field: named("json_object"), Object: true})
	}
	if raw := either(g.JSON, g.NewJSON); raw != nil {
		var text string
		if json.Unmarshal(raw, &text) == nil { // a schema as text
			raw = json.RawMessage(text)
		}
		if !isObject(raw) || !json.Valid(raw) {
			return nil, bad("json")
		}
		forms = append(forms, &engine.Guide{Field: named("json"), Schema: raw})
	}
	if raw := either(g.Choice, g.NewChoice); raw != nil {
		guide := &engine.Guide{Field: named("choice")}
		if json.Unmarshal(raw, &guide.Choice) != nil || len(guide.Choice) == 0 {
			return nil, bad("choice")
		}
		forms = append(forms, guide)
	}
	for name, raw := range map[string]json.RawMessage{"regex": either(g.Regex, g.NewRegex), "grammar": either(g.Grammar, g.NewGrammar)} {
		if raw == nil {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil || text == "" {
			return nil, bad(name)
		}
		guide := &engine.Guide{Field: named(name)}
		if name == "regex" {
			guide.Regex = text
		} else {
			guide.Grammar = text
		}
		forms = append(forms, guide)
	}
	for _, form := range forms {
		if len(form.Schema)+len(form.Regex)+len(form.Grammar) > maxForm {
			return nil, chat.Refuse(nil, []any{form.Field}, "%s must not be longer than %d bytes", form.Field, maxForm)
		}
	}
	return forms, nil
}

// either is the one that is given, nil for none.
func either(a, b json.RawMessage) json.RawMessage {
	switch {
	case given(a):
		return a
	case given(b):
		return b
	}
	return nil
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }
