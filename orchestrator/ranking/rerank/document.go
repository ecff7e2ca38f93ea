package rerank

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// Document is a candidate: a text, or an object with texts as members.
type Document struct {
	object json.RawMessage // nil for a text
	text   string          // the text to rank; selectText sets it for an object
}

// UnmarshalJSON decodes "text" or {"text": "text", …}.
func (d *Document) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case bytes.HasPrefix(data, []byte(`"`)):
		return json.Unmarshal(data, &d.text)
	case bytes.HasPrefix(data, []byte(`{`)):
		d.object = bytes.Clone(data)
		return nil
	}
	return notDocument.At()
}

var notDocument = wire.Mismatch{
	Rule:    "string_type",
	Message: "Input should be a valid string, or an object with the member text",
}

// selectText joins the members of an object that fields names into the text to rank, one per line, and checks the text.
// path is the path of the document in the body.
func (d *Document) selectText(fields []string, path ...any) *fault.Error {
	if d.object == nil {
		return fault.Text(d.text, path...)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(d.object, &members); err != nil {
		return fault.Field("model_attributes_type", nil, path, "Input should be a valid object: %v", err)
	}
	if len(fields) == 0 {
		fields = []string{"text"}
	}
	var texts []string
	for i, name := range fields {
		raw, ok := members[name]
		if !ok || string(raw) == "null" || slices.Contains(fields[:i], name) { // ignore repeated names
			continue
		}
		var value string
		if err := json.Unmarshal(raw, &value); err != nil {
			return fault.Field("string_type", nil, append(path, fault.Clip(name)), "%s", wire.NotString.Message)
		}
		texts = append(texts, value)
	}
	if len(texts) == 0 {
		return fault.Field("missing", nil, append(path, fault.Clip(fields[0])), "Field required")
	}
	d.text = strings.Join(texts, "\n")
	return fault.Text(d.text, path...)
}

// echo returns the document as an object, for the answer.
func (d *Document) echo() any {
	if d.object != nil {
		return d.object
	}
	return map[string]string{"text": d.text}
}
