package stack

import (
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/chat"
	"retort/orchestrator/wire"
)

// Content is the content of a message: a string, one image, or a list of strings and parts.
type Content []chat.Part

// UnmarshalJSON decodes the older and the newer form.
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
// {"url": {"uri": …}}} or {"type": "image", "image": {"data": …}}; the newest forms also without the member image.
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
	case object.Is("type", "text"):
		text, mismatch := object.Text("text")
		return chat.Part{Text: text}, mismatch
	case object["image"].Kind() != 0:
		source, mismatch := readImage(object["image"])
		if mismatch != nil {
			mismatch.Path = append([]any{"image"}, mismatch.Path...)
			return chat.Part{}, mismatch
		}
		source.Place = append([]any{"image"}, source.Place...)
		return chat.Part{Image: source}, nil
	case object.Is("type", "image"):
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

// readSource decodes {"uri": …}, {"url": …}, {"url": {"uri": …}} or {"data": …}. Place is the path of the
// member that held it.
func readSource(object chat.Object) (*chat.Source, *wire.Mismatch) {
	if object.Has("data") {
		data, mismatch := object.Text("data")
		return &chat.Source{Base64: data, Place: []any{"data"}}, mismatch
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
		return &chat.Source{URL: uri, Place: []any{"url", "uri"}}, mismatch
	}
	name := "uri"
	if object["url"].Kind() == '"' {
		name = "url"
	}
	uri, mismatch := object.Text(name)
	return &chat.Source{URL: uri, Place: []any{name}}, mismatch
}
