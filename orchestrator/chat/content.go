package chat

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// Content is the content of a message of /v1/chat/completions: a string, or
// parts of text and images.
type Content []Part

// UnmarshalJSON decodes "text" or [{"type": "text", …}, …].
func (c *Content) UnmarshalJSON(data []byte) error {
	value := jsontext.Value(data)
	if value.Kind() == '"' {
		text, err := stringOf(value)
		*c = Content{{Text: text}}
		return err
	}
	parts, err := partsOf(value, openAIPart)
	*c = parts
	return err
}

// partsOf decodes each element of an array.
func partsOf(value jsontext.Value, decode func(jsontext.Value) (Part, *wire.Mismatch)) ([]Part, error) {
	if value.Kind() != '[' {
		return nil, &wire.Mismatch{Rule: "string_type", Message: "Input should be a valid string or a list of content parts"}
	}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(value))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	parts := []Part{}
	for i := 0; decoder.PeekKind() != ']'; i++ {
		item, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		part, mismatch := decode(item)
		if mismatch != nil {
			mismatch.Path = append([]any{i}, mismatch.Path...)
			return nil, mismatch
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// openAIPart decodes {"type": "text", "text": …} or {"type": "image_url",
// "image_url": {"url": …}}. Some clients send the URL in place of the object.
func openAIPart(value jsontext.Value) (Part, *wire.Mismatch) {
	members, mismatch := membersOf(value)
	if mismatch != nil {
		return Part{}, mismatch
	}
	kind, mismatch := textOf(members, "type")
	switch {
	case mismatch != nil:
		return Part{}, mismatch
	case kind == "text":
		text, mismatch := textOf(members, "text")
		return Part{Text: text}, mismatch
	case kind != "image_url":
		return Part{}, notOneOf("type", "'text' or 'image_url'")
	}
	if members["image_url"].Kind() == '"' {
		url, mismatch := textOf(members, "image_url")
		return Part{Image: &Source{URL: url}}, mismatch
	}
	inner, mismatch := membersOf(members["image_url"])
	if mismatch == nil {
		if detail, given := inner["detail"]; given && !known(detail, "auto", "low", "high", "original") {
			mismatch = notOneOf("detail", "'auto', 'low' or 'high'")
		}
	}
	url := ""
	if mismatch == nil {
		url, mismatch = textOf(inner, "url")
	}
	if mismatch != nil {
		mismatch.Path = append([]any{"image_url"}, mismatch.Path...)
		return Part{}, mismatch
	}
	return Part{Image: &Source{URL: url}}, nil
}

func notOneOf(member, expected string) *wire.Mismatch {
	m := wire.Mismatch{Rule: "literal_error", Message: "Input should be " + expected}
	return m.At(member)
}

func known(value jsontext.Value, texts ...string) bool {
	text, err := stringOf(value)
	return value.Kind() == 'n' || err == nil && slices.Contains(texts, text)
}

func membersOf(value jsontext.Value) (map[string]jsontext.Value, *wire.Mismatch) {
	switch value.Kind() {
	case '{':
	case 0:
		return nil, &wire.Mismatch{Rule: "missing", Message: "Field required"}
	default:
		return nil, wire.NotObject.At()
	}
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, &wire.Mismatch{Rule: "value_error", Message: err.Error()}
	}
	return members, nil
}

// textOf is a member that must be a string.
func textOf(members map[string]jsontext.Value, name string) (string, *wire.Mismatch) {
	value, given := members[name]
	if !given {
		m := wire.Mismatch{Rule: "missing", Message: "Field required"}
		return "", m.At(name)
	}
	if value.Kind() != '"' {
		return "", wire.NotString.At(name)
	}
	text, err := stringOf(value)
	if err != nil {
		return "", wire.NotString.At(name)
	}
	return text, nil
}

func stringOf(value jsontext.Value) (string, error) {
	var text string
	err := json.Unmarshal(value, &text)
	return text, err
}
