package chat

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// HasItems is a list of which it matters only whether anything is in it: what this service cannot do is refused, and
// takes no memory before that.
type HasItems bool

// UnmarshalJSON decodes a list.
func (h *HasItems) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() != '[' {
		return wire.NotList.At()
	}
	*h = HasItems(!empty(data))
	return nil
}

// HasMembers is an object of which it matters only whether anything is in it.
type HasMembers bool

// UnmarshalJSON decodes an object.
func (h *HasMembers) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() != '{' {
		return wire.NotObject.At()
	}
	*h = HasMembers(!empty(data))
	return nil
}

// empty reports whether there is nothing between the brackets.
func empty(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(bytes.TrimSpace(data[1:len(data)-1])) == 0
}
