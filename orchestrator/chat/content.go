package chat

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// maxParts is the maximum number of parts of a message: as a Go struct, a part takes many times the bytes of its JSON.
const maxParts = 1024

// ReadParts decodes the content of a message that is a list, each element with decode. decode sets the Path of an image
// within its element; ReadParts prepends the element's index. Its error for a wrong value is a *wire.Mismatch.
func ReadParts(value jsontext.Value, decode func(jsontext.Value) (Part, *wire.Mismatch)) ([]Part, error) {
	if value.Kind() != '[' {
		return nil, &wire.Mismatch{
			Rule:    "string_type",
			Message: "Input should be a valid string or a list of content parts",
		}
	}
	parts, err := ReadList(value, maxParts, decode)
	for i, part := range parts {
		if part.Image != nil {
			part.Image.Path = append([]any{i}, part.Image.Path...)
		}
	}
	return parts, err
}

// Object is a decoded JSON object of a message. It has only the members that a documented interface reads, so that
// others take no memory.
type Object map[string]jsontext.Value

var objectMembers = []string{"type", "text", "refusal", "image_url", "url", "detail", "image", "uri", "data"}

// ReadObject decodes an object that is required.
func ReadObject(value jsontext.Value) (Object, *wire.Mismatch) {
	switch value.Kind() {
	case '{':
	case 0:
		return nil, &wire.Mismatch{Rule: "missing", Message: "Field required"}
	default:
		return nil, wire.NotObject.At()
	}
	object := Object{}
	decoder := newDecoder(value)
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() != '}' {
		err = object.readMember(decoder)
	}
	if err != nil {
		return nil, &wire.Mismatch{Rule: "value_error", Message: err.Error()}
	}
	return object, nil
}

func (o Object) readMember(decoder *jsontext.Decoder) error {
	token, err := decoder.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	value, err := decoder.ReadValue()
	if err == nil && slices.Contains(objectMembers, name) {
		o[name] = value.Clone()
	}
	return err
}

// Text returns a member that must be a string.
func (o Object) Text(name string) (string, *wire.Mismatch) {
	value, exists := o[name]
	if !exists {
		missing := wire.Mismatch{Rule: "missing", Message: "Field required"}
		return "", missing.At(name)
	}
	text, ok := ReadText(value)
	if !ok {
		return "", wire.NotString.At(name)
	}
	return text, nil
}

// IsNullOrOneOf reports whether a member exists and is null or one of texts.
func (o Object) IsNullOrOneOf(name string, texts ...string) bool {
	text, ok := ReadText(o[name])
	return o[name].Kind() == 'n' || ok && slices.Contains(texts, text)
}

// ReadText decodes a string; ok is false for any other value.
func ReadText(value jsontext.Value) (text string, ok bool) {
	return text, value.Kind() == '"' && json.Unmarshal(value, &text) == nil
}

// NotOneOf returns the mismatch of a member that is none of the expected texts.
func NotOneOf(member, expected string) *wire.Mismatch {
	m := wire.Mismatch{Rule: "literal_error", Message: "Input should be " + expected}
	return m.At(member)
}
