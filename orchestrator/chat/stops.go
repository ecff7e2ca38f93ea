package chat

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// Stops is one stop string or several. Looking for them costs time for each token, so their number and length are
// bounded.
type Stops []string

const (
	maxStops      = 16
	maxStopLength = 1024 // bytes
)

// UnmarshalJSON decodes "a" or ["a", "b"]. What is beyond the bound is counted and not kept.
func (s *Stops) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() != '[' {
		text, ok := ReadText(data)
		*s = Stops{text}
		if !ok {
			return wire.NotString.At()
		}
		return nil
	}
	decoder := newDecoder(data)
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	*s = Stops{}
	count := 0
	for ; decoder.PeekKind() != ']'; count++ {
		value, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		if value.Kind() != '"' {
			return wire.NotString.At(count)
		}
		if count < maxStops {
			text, _ := ReadText(value)
			*s = append(*s, text)
		}
	}
	if count > maxStops {
		return &wire.Mismatch{
			Rule:    "too_long",
			Message: fmt.Sprintf("List should have at most %d items after validation, not %d", maxStops, count),
		}
	}
	return nil
}

// Check checks each stop string.
func (s Stops) Check() *fault.Error {
	for i, stop := range s {
		switch {
		case stop == "":
			return Refuse(stop, []any{"stop", i}, "stop cannot contain an empty string.")
		case len(stop) > maxStopLength:
			return Refuse(nil, []any{"stop", i}, "a stop string must not be longer than %d bytes.", maxStopLength)
		}
	}
	return nil
}
