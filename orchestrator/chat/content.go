package chat

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// maxParts is how many parts a message may have: each becomes a Go struct, many times the bytes of its text.
const maxParts = 1024

// ReadParts decodes the content of a message that is a list, each element with decode. decode gives the Place of an image
// within its part; ReadParts puts the part's index before it. The error is a *wire.Mismatch for what is not of the
// documented form, and for a list that is too long.
func ReadParts(value jsontext.Value, decode func(jsontext.Value) (Part, *wire.Mismatch)) ([]Part, error) {
	if value.Kind() != '[' {
		return nil, &wire.Mismatch{Rule: "string_type", Message: "Input should be a valid string or a list of content parts"}
	}
	decoder := newDecoder(value)
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	parts := []Part{}
	for i := 0; decoder.PeekKind() != ']'; i++ {
		if i == maxParts {
			return nil, &wire.Mismatch{Rule: "too_long", Message: fmt.Sprintf("List should have at most %d items after validation", maxParts)}
		}
		item, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		part, mismatch := decode(item)
		if mismatch != nil {
			mismatch.Path = append([]any{i}, mismatch.Path...)
			return nil, mismatch
		}
		if part.Image != nil {
			part.Image.Place = append([]any{i}, part.Image.Place...)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// newDecoder returns a decoder of a value that the binder has read already, so that names of members need not be
// compared again.
func newDecoder(value jsontext.Value) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true))
}

// Object is a JSON object of a part, by the names of its members: those that either interface knows.
type Object map[string]jsontext.Value

var members = []string{"type", "text", "refusal", "image_url", "url", "detail", "image", "uri", "data"}

// ReadObject decodes an object that must be there.
func ReadObject(value jsontext.Value) (Object, *wire.Mismatch) {
	switch value.Kind() {
	case '{':
	case 0:
		return nil, &wire.Mismatch{Rule: "missing", Message: "Field required"}
	default:
		return nil, wire.NotObject.At()
	}
	object := Object{}
	if err := object.read(newDecoder(value)); err != nil {
		return nil, &wire.Mismatch{Rule: "value_error", Message: err.Error()}
	}
	return object, nil
}

func (o Object) read(decoder *jsontext.Decoder) error {
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != '}' {
		token, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if !slices.Contains(members, name) {
			if err := decoder.SkipValue(); err != nil {
				return err
			}
			continue
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		o[name] = value.Clone()
	}
	return nil
}

// Text returns a member that must be a string.
func (o Object) Text(name string) (string, *wire.Mismatch) {
	value, given := o[name]
	if !given {
		m := wire.Mismatch{Rule: "missing", Message: "Field required"}
		return "", m.At(name)
	}
	text, ok := ReadText(value)
	if !ok {
		return "", wire.NotString.At(name)
	}
	return text, nil
}

// Has reports whether a member is there with a value other than null.
func (o Object) Has(name string) bool { return o[name].Kind() != 0 && o[name].Kind() != 'n' }

// Is reports whether a member is null or one of some texts.
func (o Object) Is(name string, texts ...string) bool {
	text, ok := ReadText(o[name])
	return o[name].Kind() == 'n' || ok && slices.Contains(texts, text)
}

// ReadText decodes a string.
func ReadText(value jsontext.Value) (text string, ok bool) {
	return text, value.Kind() == '"' && json.Unmarshal(value, &text) == nil
}

// NotOneOf is a member that is not one of the texts expected.
func NotOneOf(member, expected string) *wire.Mismatch {
	m := wire.Mismatch{Rule: "literal_error", Message: "Input should be " + expected}
	return m.At(member)
}
