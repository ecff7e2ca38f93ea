package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

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
		if err := json.Unmarshal(raw, &one); err != nil || raw.Kind() != '{' {
			unfit := unfitMember(err)
			return nil, unfit.At(append([]any{i}, unfit.Path...)...)
		}
		list = append(list, one)
	}
	return list, nil
}

// unfitMember is the mismatch of the member that json.Unmarshal could not decode: all members of these types are objects or
// strings. If err names no member, the value itself is no object.
func unfitMember(err error) *wire.Mismatch {
	var unfit *json.UnmarshalTypeError
	if !errors.As(err, &unfit) || unfit.Field == "" {
		return wire.NotObject.At()
	}
	var path []any
	for name := range strings.SplitSeq(unfit.Field, ".") {
		path = append(path, name)
	}
	if unfit.Type.Kind() == reflect.Struct {
		return wire.NotObject.At(path...)
	}
	return wire.NotString.At(path...)
}
