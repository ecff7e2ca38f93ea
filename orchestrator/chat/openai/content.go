package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/chat"
	"retort/orchestrator/wire"
)

// Content is the content of a message: a string, or parts of text and images.
type Content []chat.Part

// UnmarshalJSON decodes "text" or [{"type": "text", …}, …].
func (c *Content) UnmarshalJSON(data []byte) error {
	if text, ok := chat.ReadText(data); ok {
		*c = Content{{Text: text}}
		return nil
	}
	parts, err := chat.ReadParts(data, readPart)
	*c = parts
	return err
}

// readPart decodes {"type": "text", "text": …} or {"type": "image_url", "image_url": {"url": …}}. Some clients send the
// URL in place of the object.
func readPart(value jsontext.Value) (chat.Part, *wire.Mismatch) {
	object, mismatch := chat.ReadObject(value)
	if mismatch != nil {
		return chat.Part{}, mismatch
	}
	kind, mismatch := object.Text("type")
	switch {
	case mismatch != nil:
		return chat.Part{}, mismatch
	case kind == "text":
		text, mismatch := object.Text("text")
		return chat.Part{Text: text}, mismatch
	case kind != "image_url":
		return chat.Part{}, chat.NotOneOf("type", "'text' or 'image_url'")
	}
	if url, ok := chat.ReadText(object["image_url"]); ok {
		return chat.Part{Image: &chat.Source{URL: url}}, nil
	}
	url, mismatch := readURL(object["image_url"])
	if mismatch != nil {
		mismatch.Path = append([]any{"image_url"}, mismatch.Path...)
		return chat.Part{}, mismatch
	}
	return chat.Part{Image: &chat.Source{URL: url}}, nil
}

// readURL decodes {"url": …, "detail": …}.
func readURL(value jsontext.Value) (string, *wire.Mismatch) {
	object, mismatch := chat.ReadObject(value)
	if mismatch == nil {
		mismatch = checkDetail(object)
	}
	if mismatch != nil {
		return "", mismatch
	}
	return object.Text("url")
}

// checkDetail checks the optional resolution of an image, which has no effect: the models have one resolution.
func checkDetail(object chat.Object) *wire.Mismatch {
	_, exists := object["detail"]
	if exists && !object.IsNullOrOneOf("detail", "auto", "low", "high", "original") {
		return chat.NotOneOf("detail", "'auto', 'low' or 'high'")
	}
	return nil
}
