package openai

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/chat"
	"retort/orchestrator/wire"
)

// Items are the input of a response.
type Items []Item

// UnmarshalJSON decodes a text, or a list of items, whose length package bind has bounded.
func (items *Items) UnmarshalJSON(data []byte) (err error) {
	if text, ok := chat.ReadText(data); ok {
		raw, err := encode(map[string]string{"type": "message", "role": "user", "content": text})
		*items = Items{{Type: "message", Role: "user", Content: []chat.Part{{Text: text}}, Raw: raw}}
		return err
	}
	if jsontext.Value(data).Kind() != '[' {
		return &wire.Mismatch{Rule: "string_type", Message: "Input should be a valid string or a list of items"}
	}
	*items, err = chat.ReadList(data, math.MaxInt, readItem)
	return err
}

func readItem(value jsontext.Value) (item Item, mismatch *wire.Mismatch) {
	var members struct {
		Type      *string         `json:"type"`
		ID        *string         `json:"id"` // checked only
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Output    json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(value, &members); err != nil {
		return item, mismatchOf(err)
	}
	item = Item{
		Type:   "message",
		Role:   members.Role,
		CallID: members.CallID,
		Call:   FunctionCall{Name: members.Name, Arguments: members.Arguments},
		Raw:    slices.Clone(json.RawMessage(value)),
	}
	if members.Type != nil {
		item.Type = *members.Type
	}
	switch item.Type {
	case "message":
		item.Content, mismatch = readItemParts(members.Content, "content")
	case "function_call_output":
		item.Content, mismatch = readItemParts(members.Output, "output")
	case "function_call", "reasoning":
	default:
		mismatch = chat.NotOneOf("type", "'message', 'function_call', 'function_call_output' or 'reasoning'")
	}
	return item, mismatch
}

// readItemParts decodes the member of an item that is a text or a list of parts.
func readItemParts(data []byte, member string) ([]chat.Part, *wire.Mismatch) {
	if text, ok := chat.ReadText(data); ok {
		return []chat.Part{{Text: text}}, nil
	}
	parts, err := chat.ReadParts(data, readInputPart)
	if err != nil {
		mismatch, ok := err.(*wire.Mismatch)
		if !ok {
			mismatch = &wire.Mismatch{Rule: "value_error", Message: err.Error()}
		}
		return nil, mismatch.At(append([]any{member}, mismatch.Path...)...)
	}
	return parts, nil
}

// readInputPart decodes {"type": "input_text", "text": …}, {"type": "input_image", "image_url": …}, or the output_text
// or refusal of an earlier answer.
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
		if mismatch := checkDetail(object); mismatch != nil {
			return chat.Part{}, mismatch
		}
		url, mismatch := object.Text("image_url")
		return chat.Part{Image: &chat.Source{URL: url, Path: []any{"image_url"}}}, mismatch
	}
	return chat.Part{}, chat.NotOneOf("type", "'input_text' or 'input_image'")
}
