package openai

import (
	"bytes"
	"encoding/json"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/fault"
)

// maxGuideBytes bounds the text of a schema, grammar or regular expression, because engines compile it before they
// answer.
const maxGuideBytes = 64 << 10

// guides returns the guides of the members response_format, structured_outputs and guided_*, and of nvext, which may
// hold guided_* too. A valid request has at most one. Tools that must be called are guides too: see plan.
func (p *Parameters) guides(nvext json.RawMessage) (guides []*engine.Guide, problem *fault.Error) {
	if f := p.ResponseFormat; f != nil {
		switch {
		case f.Type == "json_object":
			guides = append(guides, &engine.Guide{Field: "response_format", Object: true})
		case f.Type == "json_schema" && (f.Schema == nil || !isObject(f.Schema.Schema)):
			return nil, chat.Refuse([]any{"response_format", "json_schema"},
				"response_format json_schema needs a schema, which is an object")
		case f.Type == "json_schema":
			guides = append(guides, &engine.Guide{Field: "response_format", Schema: f.Schema.Schema})
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
// is "".
func (m *guideMembers) appendTo(guides []*engine.Guide, field string) ([]*engine.Guide, *fault.Error) {
	fieldOf := func(name string) string {
		if field != "" {
			return field
		}
		return "guided_" + name
	}
	if isTrue(m.Object) {
		guides = append(guides, &engine.Guide{Field: fieldOf("json_object"), Object: true})
	}
	for _, member := range []struct {
		name string
		raw  json.RawMessage
		read func(*engine.Guide, json.RawMessage) bool
	}{
		{"json", firstSet(m.JSON, m.NewJSON), readSchema},
		{"choice", firstSet(m.Choice, m.NewChoice), func(g *engine.Guide, raw json.RawMessage) bool {
			return json.Unmarshal(raw, &g.Choice) == nil && len(g.Choice) > 0
		}},
		{"regex", firstSet(m.Regex, m.NewRegex), func(g *engine.Guide, raw json.RawMessage) bool {
			return json.Unmarshal(raw, &g.Regex) == nil && g.Regex != ""
		}},
		{"grammar", firstSet(m.Grammar, m.NewGrammar), func(g *engine.Guide, raw json.RawMessage) bool {
			return json.Unmarshal(raw, &g.Grammar) == nil && g.Grammar != ""
		}},
	} {
		if member.raw == nil {
			continue
		}
		guide := &engine.Guide{Field: fieldOf(member.name)}
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
	return isObject(raw) && json.Valid(raw)
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

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }
