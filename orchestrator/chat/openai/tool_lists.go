package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// Tools are the tools that a request offers, at most maxTools. They are judged where they are to be called: see
// checkTools.
type Tools []Tool

// UnmarshalJSON decodes a list of tools.
func (t *Tools) UnmarshalJSON(data []byte) (err error) {
	*t, err = readList[Tool](data)
	return err
}

// ToolCalls are the calls of an answer that is sent back, at most maxTools.
type ToolCalls []ToolCall

// UnmarshalJSON decodes a list of calls.
func (c *ToolCalls) UnmarshalJSON(data []byte) (err error) {
	*c, err = readList[ToolCall](data)
	return err
}

// readList decodes a list of at most maxTools objects. Members that are not known are left out.
func readList[T any](data []byte) ([]T, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	if decoder.PeekKind() != '[' {
		return nil, wire.NotList.At()
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	var list []T
	for i := 0; decoder.PeekKind() != ']'; i++ {
		if i == maxTools {
			return nil, &wire.Mismatch{Rule: "too_long", Message: fmt.Sprintf("List should have at most %d items after validation", maxTools)}
		}
		raw, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		var one T
		if raw.Kind() != '{' || json.Unmarshal(raw, &one) != nil {
			return nil, wire.NotObject.At(i)
		}
		list = append(list, one)
	}
	return list, nil
}
