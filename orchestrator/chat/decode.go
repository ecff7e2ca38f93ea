package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// ReadList decodes a JSON array of at most limit items, each with decode. Its error for a wrong value is a
// *wire.Mismatch, with the path of the item. Items beyond the limit are only counted, so that they take no memory.
func ReadList[T any](value jsontext.Value, limit int, decode func(jsontext.Value) (T, *wire.Mismatch)) ([]T, error) {
	if value.Kind() != '[' {
		return nil, wire.NotList.At()
	}
	decoder := newDecoder(value)
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	items := []T{}
	count := 0
	for ; decoder.PeekKind() != ']'; count++ {
		raw, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		if count >= limit {
			continue
		}
		item, mismatch := decode(raw)
		if mismatch != nil {
			return nil, mismatch.At(append([]any{count}, mismatch.Path...)...)
		}
		items = append(items, item)
	}
	if count > limit {
		return nil, &wire.Mismatch{
			Rule:    "too_long",
			Message: fmt.Sprintf("List should have at most %d items after validation, not %d", limit, count),
		}
	}
	return items, nil
}

// ReadStruct decodes an object whose members are objects or strings. It ignores members without a field.
func ReadStruct[T any](value jsontext.Value) (object T, _ *wire.Mismatch) {
	if err := json.Unmarshal(value, &object); err != nil || value.Kind() != '{' {
		return object, MismatchOf(err)
	}
	return object, nil
}

// MismatchOf converts the error of json.Unmarshal for an object whose members must be objects or strings. If err names
// no member, the value itself is not an object.
func MismatchOf(err error) *wire.Mismatch {
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) || wrongType.Field == "" {
		return wire.NotObject.At()
	}
	var path []any
	for name := range strings.SplitSeq(wrongType.Field, ".") {
		path = append(path, name)
	}
	if wrongType.Type.Kind() == reflect.Struct {
		return wire.NotObject.At(path...)
	}
	return wire.NotString.At(path...)
}

// newDecoder returns a decoder for a value in which package bind has already looked for duplicate names.
func newDecoder(value jsontext.Value) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true))
}

// StopStrings are one stop string or several. Their number and length are bounded, because each new token is searched
// for all of them.
type StopStrings []string

const (
	maxStops      = 16
	maxStopLength = 1024 // bytes
)

// UnmarshalJSON decodes "a" or ["a", "b"].
func (s *StopStrings) UnmarshalJSON(data []byte) (err error) {
	if jsontext.Value(data).Kind() == '[' {
		*s, err = ReadList(data, maxStops, readStop)
		return err
	}
	stop, mismatch := readStop(data)
	if mismatch != nil {
		return mismatch
	}
	*s = StopStrings{stop}
	return nil
}

func readStop(value jsontext.Value) (string, *wire.Mismatch) {
	text, ok := ReadText(value)
	if !ok {
		return "", wire.NotString.At()
	}
	return text, nil
}

// Check returns the fault of the first stop string that is empty or too long, nil if there is none.
func (s StopStrings) Check() *fault.Error {
	for i, stop := range s {
		switch {
		case stop == "":
			return Refuse([]any{"stop", i}, "stop cannot contain an empty string.")
		case len(stop) > maxStopLength:
			return Refuse([]any{"stop", i}, "a stop string must not be longer than %d bytes.", maxStopLength)
		}
	}
	return nil
}

// NonEmptyList is true for a list that has items. It drops the items, so that a long list takes no memory.
type NonEmptyList bool

// UnmarshalJSON decodes a list.
func (n *NonEmptyList) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() != '[' {
		return wire.NotList.At()
	}
	*n = NonEmptyList(!isEmptyContainer(data))
	return nil
}

// NonEmptyObject is true for an object that has members. It drops the members.
type NonEmptyObject bool

// UnmarshalJSON decodes an object.
func (n *NonEmptyObject) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() != '{' {
		return wire.NotObject.At()
	}
	*n = NonEmptyObject(!isEmptyContainer(data))
	return nil
}

// isEmptyContainer reports whether a list or object has nothing between its brackets.
func isEmptyContainer(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(bytes.TrimSpace(data[1:len(data)-1])) == 0
}

// IsSet reports whether a raw member of an object exists and is not null.
func IsSet(raw []byte) bool { return len(raw) > 0 && string(raw) != "null" }
