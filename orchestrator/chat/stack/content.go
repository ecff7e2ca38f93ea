package stack

import (
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/chat"
	"retort/orchestrator/wire"
)

// Content is the content of a message: a string, one part, or a list of strings and parts.
type Content []chat.Part

// UnmarshalJSON decodes the older and the newer version.
func (c *Content) UnmarshalJSON(data []byte) error {
	value := jsontext.Value(data)
	if value.Kind() == '[' {
		parts, err := chat.ReadParts(value, readPart)
		*c = parts
		return err
	}
	part, mismatch := readPart(value)
	if mismatch != nil {
		return mismatch
	}
	*c = Content{part}
	return nil
}

// readPart decodes "text", {"type": "text", "text": …} or an image: {"image": {"uri": …}}, {"type": "image", "image":
// {"url": {"uri": …}}} or {"type": "image", "image": {"data": …}}. The last two may omit the member image.
func readPart(value jsontext.Value) (chat.Part, *wire.Mismatch) {
	if value.Kind() == '"' {
		text, ok := chat.ReadText(value)
		if !ok {
			return chat.Part{}, wire.NotString.At()
		}
		return chat.Part{Text: text}, nil
	}
	object, mismatch := chat.ReadObject(value)
	if mismatch != nil {
		return chat.Part{}, mismatch
	}
	switch {
	case object.IsNullOrOneOf("type", "text"):
		text, mismatch := object.Text("text")
		return chat.Part{Text: text}, mismatch
	case object["image"].Kind() != 0:
		source, mismatch := readImage(object["image"])
		if mismatch != nil {
			mismatch.Path = append([]any{"image"}, mismatch.Path...)
			return chat.Part{}, mismatch
		}
		source.Path = append([]any{"image"}, source.Path...)
		return chat.Part{Image: source}, nil
	case object.IsNullOrOneOf("type", "image"):
		source, mismatch := readSource(object)
		return chat.Part{Image: source}, mismatch
	}
	return chat.Part{}, chat.NotOneOf("type", "'text' or 'image'")
}

func readImage(value jsontext.Value) (*chat.Source, *wire.Mismatch) {
	object, mismatch := chat.ReadObject(value)
	if mismatch != nil {
		return nil, mismatch
	}
	return readSource(object)
}

// readSource decodes {"uri": …}, {"url": …}, {"url": {"uri": …}} or {"data": …}. The source's Path is the member that
// holds it.
func readSource(object chat.Object) (*chat.Source, *wire.Mismatch) {
	if chat.IsSet(object["data"]) {
		data, mismatch := object.Text("data")
		return &chat.Source{Base64: data, Path: []any{"data"}}, mismatch
	}
	if object["url"].Kind() == '{' {
		inner, mismatch := chat.ReadObject(object["url"])
		if mismatch != nil {
			return nil, mismatch
		}
		uri, mismatch := inner.Text("uri")
		if mismatch != nil {
			mismatch.Path = append([]any{"url"}, mismatch.Path...)
		}
		return &chat.Source{URL: uri, Path: []any{"url", "uri"}}, mismatch
	}
	member := "uri"
	if object["url"].Kind() == '"' {
		member = "url"
	}
	uri, mismatch := object.Text(member)
	return &chat.Source{URL: uri, Path: []any{member}}, mismatch
}
