// Package wire holds JSON types that decode themselves and that several published APIs share: one string or many, and
// numbers that may be sent as strings.
package wire

import "encoding/json"

// Mismatch is the error for a JSON value that a type of this package does not accept. Rule and Message are pydantic's
// error type and wording, which the published services answer with.
type Mismatch struct {
	Rule    string
	Message string
	// Path locates the value below the field, such as {3} for the fourth item of a list.
	Path []any
}

func (m *Mismatch) Error() string { return m.Message }

// The mismatches of pydantic 2 for values of the wrong JSON type.
var (
	NotString  = mismatch("string_type", "Input should be a valid string")
	NotInteger = mismatch("int_type", "Input should be a valid integer")
	NotWhole   = mismatch("int_from_float", "Input should be a valid integer, got a number with a fractional part")
	NotNumber  = mismatch("float_type", "Input should be a valid number")
	NotBoolean = mismatch("bool_type", "Input should be a valid boolean")
	NotList    = mismatch("list_type", "Input should be a valid list")
	NotObject  = mismatch("dict_type", "Input should be a valid dictionary")

	badInteger = mismatch("int_parsing", "Input should be a valid integer, unable to parse string as an integer")
	badNumber  = mismatch("float_parsing", "Input should be a valid number, unable to parse string as a number")
	badBoolean = mismatch("bool_parsing", "Input should be a valid boolean, unable to interpret input")
)

func mismatch(rule, message string) Mismatch { return Mismatch{Rule: rule, Message: message} }

// At returns m for the value at path.
func (m Mismatch) At(path ...any) *Mismatch {
	m.Path = path
	return &m
}

// Strings is one string or a list of strings: "a" means ["a"].
type Strings []string

// UnmarshalJSON decodes a string or a list of strings.
func (s *Strings) UnmarshalJSON(data []byte) error {
	switch kind(data) {
	case '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*s = Strings{text}
		return nil
	case '[':
		return s.decodeList(data)
	default:
		return NotString.At()
	}
}

func (s *Strings) decodeList(data []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	texts := make(Strings, len(items))
	for i, item := range items {
		if kind(item) != '"' {
			return NotString.At(i)
		}
		if err := json.Unmarshal(item, &texts[i]); err != nil {
			return err
		}
	}
	*s = texts
	return nil
}

// kind returns the first byte of a JSON value, or 0.
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
