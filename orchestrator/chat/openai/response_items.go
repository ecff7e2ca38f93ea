package openai

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/chat"
	"retort/orchestrator/wire"
)

// Items are the input of a response.
type Items []Item

// UnmarshalJSON decodes a text, or a list of items.
func (items *Items) UnmarshalJSON(data []byte) error {
	if text, ok := chat.ReadText(data); ok {
		*items = Items{{Type: "message", Role: "user", Content: []chat.Part{{Text: text}}}}
		return nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return &wire.Mismatch{Rule: "string_type", Message: "Input should be a valid string or a list of items"}
	}
	*items = make(Items, len(raw))
	for i, one := range raw {
		if mismatch := (*items)[i].read(one); mismatch != nil {
			mismatch.Path = append([]any{i}, mismatch.Path...)
			return mismatch
		}
	}
	return nil
}

// wireItem has the members of all kinds of items.
type wireItem struct {
	Type      *string         `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

func (item *Item) read(data []byte) *wire.Mismatch {
	var w wireItem
	if err := json.Unmarshal(data, &w); err != nil {
		return unfitMember(err)
	}
	*item = Item{Type: "message", Role: w.Role, Call: FunctionCall{Name: w.Name, Arguments: w.Arguments}}
	if w.Type != nil {
		item.Type = *w.Type
	}
	switch item.Type {
	case "message":
		return item.parts(w.Content, "content")
	case "function_call_output":
		return item.parts(w.Output, "output")
	case "function_call", "reasoning":
		return nil
	}
	return chat.NotOneOf("type", "'message', 'function_call', 'function_call_output' or 'reasoning'")
}

// parts decodes a text, or a list of parts.
func (item *Item) parts(data []byte, name string) *wire.Mismatch {
	if text, ok := chat.ReadText(data); ok {
		item.Content = []chat.Part{{Text: text}}
		return nil
	}
	parts, err := chat.ReadParts(jsontext.Value(data), readInputPart)
	if err != nil {
		mismatch, ok := err.(*wire.Mismatch)
		if !ok {
			mismatch = &wire.Mismatch{Rule: "value_error", Message: err.Error()}
		}
		mismatch.Path = append([]any{name}, mismatch.Path...)
		return mismatch
	}
	item.Content = parts
	return nil
}

// readInputPart decodes {"type": "input_text", "text": …}, what a model said (output_text, refusal), or {"type":
// "input_image", "image_url": …}.
func readInputPart(value jsontext.Value) (chat.Part, *wire.Mismatch) {
	object, mismatch := chat.ReadObject(value)
	if mismatch != nil {
		return chat.Part{}, mismatch
	}
	kind, mismatch := object.Text("type")
	if mismatch != nil {
		return chat.Part{}, mismatch
	}
	switch kind {
	case "input_text", "output_text", "text":
		text, mismatch := object.Text("text")
		return chat.Part{Text: text}, mismatch
	case "refusal":
		text, mismatch := object.Text("refusal")
		return chat.Part{Text: text}, mismatch
	case "input_image":
		if _, given := object["detail"]; given && !object.Is("detail", "auto", "low", "high", "original") {
			return chat.Part{}, chat.NotOneOf("detail", "'auto', 'low' or 'high'")
		}
		url, mismatch := object.Text("image_url")
		return chat.Part{Image: &chat.Source{URL: url, Place: []any{"image_url"}}}, mismatch
	}
	return chat.Part{}, chat.NotOneOf("type", "'input_text' or 'input_image'")
}
