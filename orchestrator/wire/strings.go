package wire

import (
	"encoding/json"
)

// Strings is one string or an array of strings: "a" and ["a"] are the same.
type Strings []string

// UnmarshalJSON decodes a string or an array of strings.
func (s *Strings) UnmarshalJSON(data []byte) error {
	switch kind(data) {
	case '"':
		var one string
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		*s = Strings{one}
		return nil
	case '[':
		return s.many(data)
	default:
		return NotString.At()
	}
}

func (s *Strings) many(data []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	out := make(Strings, len(items))
	for i, item := range items {
		if kind(item) != '"' {
			return NotString.At(i)
		}
		if err := json.Unmarshal(item, &out[i]); err != nil {
			return err
		}
	}
	*s = out
	return nil
}

// kind returns the first byte of a JSON value, 0 for none.
func kind(data []byte) byte {
	for _, c := range data {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c
	}
	return 0
}
