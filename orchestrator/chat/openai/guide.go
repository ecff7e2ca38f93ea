package openai

import (
	"bytes"
	"cmp"
	"encoding/json"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/fault"
)

const maxGuideBytes = engine.MaxGuideBytes

// guides returns the guides of the members response_format, structured_outputs and guided_*, and of nvext, which may
// hold guided_* too. A valid request has at most one. Tools that must be called are guides too: see package tools.
func (p *Parameters) guides(nvext json.RawMessage) (guides []*engine.Guide, problem *fault.Error) {
	if p.ResponseFormat != nil {
		if guides, problem = p.ResponseFormat.guides(); problem != nil {
			return nil, problem
		}
	}
	for _, member := range []struct {
		field string
		raw   json.RawMessage
	}{{"structured_outputs", p.StructuredOutputs}, {"nvext", nvext}} {
		if !chat.IsSet(member.raw) {
			continue
		}
		var inner guideMembers
		decoder := json.NewDecoder(bytes.NewReader(member.raw))
		decoder.DisallowUnknownFields()
		if decoder.Decode(&inner) != nil {
			return nil, chat.Refuse([]any{member.field}, "%s is not supported with these members", member.field)
		}
		if guides, problem = inner.appendTo(guides, member.field); problem != nil {
			return nil, problem
		}
	}
	outer := guideMembers{JSON: p.GuidedJSON, Regex: p.GuidedRegex, Choice: p.GuidedChoice, Grammar: p.GuidedGrammar}
	return outer.appendTo(guides, "")
}

// guides returns the guide of a format, none for text.
func (f *ResponseFormat) guides() ([]*engine.Guide, *fault.Error) {
	switch {
	case f.Type == "json_object":
		return []*engine.Guide{{Field: "response_format", Object: true}}, nil
	case f.Type == "json_schema" && (f.Schema == nil || !tools.IsObject(f.Schema.Schema)):
		return nil, chat.Refuse([]any{"response_format", "json_schema"},
			"response_format json_schema needs a schema, which is an object")
	case f.Type == "json_schema":
		return []*engine.Guide{{Field: "response_format", Schema: f.Schema.Schema}}, nil
	}
	return nil, nil
}

// guideMembers are vLLM's members for guides, by their older and newer names.
type guideMembers struct {
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

// appendTo appends a guide for each member that is set. Their Field is field, or the older name of the member if field
// is "". It checks the length of all guides.
func (m *guideMembers) appendTo(guides []*engine.Guide, field string) ([]*engine.Guide, *fault.Error) {
	if isTrue(m.Object) {
		guides = append(guides, &engine.Guide{Field: cmp.Or(field, "guided_json_object"), Object: true})
	}
	for _, member := range []struct {
		name string
		raw  json.RawMessage
		read func(*engine.Guide, json.RawMessage) bool
	}{
		{"guided_json", firstSet(m.JSON, m.NewJSON), readSchema},
		{"guided_choice", firstSet(m.Choice, m.NewChoice), readChoices},
		{"guided_regex", firstSet(m.Regex, m.NewRegex), readRegex},
		{"guided_grammar", firstSet(m.Grammar, m.NewGrammar), readGrammar},
	} {
		if member.raw == nil {
			continue
		}
		guide := &engine.Guide{Field: cmp.Or(field, member.name)}
		if !member.read(guide, member.raw) {
			return nil, chat.Refuse([]any{guide.Field}, "%s is malformed", guide.Field)
		}
		guides = append(guides, guide)
	}
	for _, guide := range guides {
		if len(guide.Schema)+len(guide.Regex)+len(guide.Grammar) > maxGuideBytes {
			return nil, chat.Refuse([]any{guide.Field},
				"%s must not be longer than %d bytes", guide.Field, maxGuideBytes)
		}
	}
	return guides, nil
}

// readSchema decodes a JSON schema, which may be an object or its text. It reports whether it is an object.
func readSchema(guide *engine.Guide, raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	guide.Schema = raw
	return tools.IsObject(raw) && json.Valid(raw)
}

// readChoices decodes a list of texts, readRegex and readGrammar a text. They report whether it is one and not empty.
func readChoices(guide *engine.Guide, raw json.RawMessage) bool {
	return json.Unmarshal(raw, &guide.Choice) == nil && len(guide.Choice) > 0
}

func readRegex(guide *engine.Guide, raw json.RawMessage) bool {
	return json.Unmarshal(raw, &guide.Regex) == nil && guide.Regex != ""
}

func readGrammar(guide *engine.Guide, raw json.RawMessage) bool {
	return json.Unmarshal(raw, &guide.Grammar) == nil && guide.Grammar != ""
}

// firstSet returns the first member that is set, nil if none is.
func firstSet(members ...json.RawMessage) json.RawMessage {
	for _, member := range members {
		if chat.IsSet(member) {
			return member
		}
	}
	return nil
}
