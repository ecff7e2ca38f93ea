package anthropic

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/wire"
)

// maxBlocks is the maximum number of blocks of a message.
const maxBlocks = 1024

// Content is the content of a message: a string, or blocks.
type Content []Block

// Block is one block of a message as the model reads it.
type Block struct {
	Kind  string
	Parts []chat.Part // with the Path of an image within the block
}

// UnmarshalJSON decodes "text" or [{"type": "text", …}, …].
func (c *Content) UnmarshalJSON(data []byte) (err error) {
	*c, err = readContent(data, readBlock)
	return err
}

func readContent(value jsontext.Value, read func(jsontext.Value) (Block, *wire.Mismatch)) (Content, error) {
	if text, ok := chat.ReadText(value); ok {
		return Content{{Kind: "text", Parts: []chat.Part{{Text: text}}}}, nil
	}
	if value.Kind() != '[' {
		return nil, &wire.Mismatch{
			Rule:    "string_type",
			Message: "Input should be a valid string or a list of content blocks",
		}
	}
	return chat.ReadList(value, maxBlocks, read)
}

// blockMembers are the members of all kinds of blocks that are read.
type blockMembers struct {
	Type    *string         `json:"type"`
	Text    *string         `json:"text"`
	Source  json.RawMessage `json:"source"`
	ID      string          `json:"id"`
	CallID  string          `json:"tool_use_id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"`
	IsError json.RawMessage `json:"is_error"`
}

// readBlock decodes a block of a message.
func readBlock(value jsontext.Value) (Block, *wire.Mismatch) {
	members, mismatch := readMembers(value)
	if mismatch != nil {
		return Block{}, mismatch
	}
	block := Block{Kind: *members.Type}
	switch block.Kind {
	case "thinking", "redacted_thinking": // of an earlier answer; the models here read none
	case "tool_use":
		if members.Name == "" {
			return block, missing("name")
		}
		if !tools.IsObject(members.Input) {
			return block, wire.NotObject.At("input")
		}
		call := chat.Call{ID: members.ID, Name: members.Name, Arguments: string(members.Input)}
		block.Parts = []chat.Part{{Call: &call}}
	case "tool_result":
		block.Parts, mismatch = members.result()
	default:
		block.Parts, mismatch = members.parts()
	}
	return block, mismatch
}

func readMembers(value jsontext.Value) (blockMembers, *wire.Mismatch) {
	members, mismatch := chat.ReadStruct[blockMembers](value)
	if mismatch == nil && members.Type == nil {
		return members, missing("type")
	}
	return members, mismatch
}

// parts returns the part of a text or an image.
func (m *blockMembers) parts() ([]chat.Part, *wire.Mismatch) {
	switch {
	case *m.Type == "text" && m.Text == nil:
		return nil, missing("text")
	case *m.Type == "text":
		return []chat.Part{{Text: *m.Text}}, nil
	case *m.Type == "image":
		source, mismatch := readSource(jsontext.Value(m.Source))
		if mismatch != nil {
			return nil, mismatch.At(append([]any{"source"}, mismatch.Path...)...)
		}
		return []chat.Part{{Image: source}}, nil
	}
	return nil, chat.NotOneOf("type", "'text', 'image', 'tool_use' or 'tool_result'; other blocks are not supported")
}

// readSource decodes {"type": "base64", "media_type": …, "data": …} or {"type": "url", "url": …}. The format of an
// image is detected from its file.
func readSource(value jsontext.Value) (*chat.Source, *wire.Mismatch) {
	object, mismatch := chat.ReadObject(value)
	if mismatch != nil {
		return nil, mismatch
	}
	kind, mismatch := object.Text("type")
	switch {
	case mismatch != nil:
		return nil, mismatch
	case kind == "base64":
		data, mismatch := object.Text("data")
		return &chat.Source{Base64: data, Path: []any{"source", "data"}}, mismatch
	case kind == "url":
		url, mismatch := object.Text("url")
		return &chat.Source{URL: url, Path: []any{"source", "url"}}, mismatch
	}
	return nil, chat.NotOneOf("type", "'base64' or 'url'")
}

// result returns the parts of a tool's result: a text, or a list of texts and images.
func (m *blockMembers) result() ([]chat.Part, *wire.Mismatch) {
	result := &chat.Result{ID: m.CallID, Failed: string(m.IsError) == "true"}
	parts := []chat.Part{{Result: result}}
	if !chat.IsSet(m.Content) {
		return parts, nil
	}
	content, err := readContent(jsontext.Value(m.Content), readResultBlock)
	if err != nil {
		mismatch, ok := err.(*wire.Mismatch)
		if !ok {
			mismatch = &wire.Mismatch{Rule: "value_error", Message: err.Error()}
		}
		return nil, mismatch.At(append([]any{"content"}, mismatch.Path...)...)
	}
	for i, block := range content {
		for _, part := range chat.PrefixImagePaths(block.Parts, "content", i) {
			part.Result = result
			parts = append(parts, part)
		}
	}
	return parts, nil
}

func readResultBlock(value jsontext.Value) (Block, *wire.Mismatch) {
	members, mismatch := readMembers(value)
	if mismatch != nil {
		return Block{}, mismatch
	}
	parts, mismatch := members.parts()
	return Block{Kind: *members.Type, Parts: parts}, mismatch
}

// Tools are the tools that a request offers.
type Tools []Tool

// UnmarshalJSON decodes a list of objects. It ignores their unknown members.
func (list *Tools) UnmarshalJSON(data []byte) (err error) {
	*list, err = chat.ReadList(data, tools.Max, chat.ReadStruct[Tool])
	return err
}

func missing(member string) *wire.Mismatch {
	m := wire.Mismatch{Rule: "missing", Message: "Field required"}
	return m.At(member)
}
