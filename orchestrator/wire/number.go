package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Int is an integer that may be sent as a JSON number or as a string: 5 or "5". Clients of the masked-template service
// send every field as a string.
type Int int64

// UnmarshalJSON decodes 5, 5.0, "5" or "5.0".
func (i *Int) UnmarshalJSON(data []byte) error {
	text, isString, ok := scalar(data)
	if !ok {
		return NotInteger.At()
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		*i = Int(n)
		return nil
	}
	f, err := parseFloat(text)
	switch {
	case err != nil && isString:
		return badInteger.At()
	case err != nil:
		return NotInteger.At()
	case f != math.Trunc(f):
		return NotWhole.At()
	case math.Abs(f) >= 1<<63:
		return NotInteger.At()
	}
	*i = Int(f)
	return nil
}

// Float is a finite number that may be sent as a JSON number or as a string: 1.5 or "1.5".
type Float float64

// UnmarshalJSON decodes 1.5 or "1.5".
func (f *Float) UnmarshalJSON(data []byte) error {
	text, isString, ok := scalar(data)
	if !ok {
		return NotNumber.At()
	}
	v, err := parseFloat(text)
	switch {
	case err != nil && isString:
		return badNumber.At()
	case err != nil:
		return NotNumber.At()
	}
	*f = Float(v)
	return nil
}

// Bool is true or false, or a word or digit for one of them in any case: "true", "Yes", 1.
type Bool bool

// UnmarshalJSON decodes a boolean, a number or a string.
func (b *Bool) UnmarshalJSON(data []byte) error {
	text, _, ok := scalar(data)
	if !ok && kind(data) != 't' && kind(data) != 'f' {
		return NotBoolean.At()
	}
	if !ok {
		text = string(data)
	}
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on", "t", "y":
		*b = true
	case "false", "0", "no", "off", "f", "n":
		*b = false
	default:
		return badBoolean.At()
	}
	return nil
}

// scalar returns the text of a JSON number or string.
func scalar(data []byte) (text string, isString, ok bool) {
	switch c := kind(data); {
	case c == '"':
		if json.Unmarshal(data, &text) != nil {
			return "", true, false
		}
		return strings.TrimSpace(text), true, true
	case c == '-' || c >= '0' && c <= '9':
		return strings.TrimSpace(string(data)), false, true
	default:
		return "", false, false
	}
}

// parseFloat refuses what is no JSON number: NaN, Inf, hexadecimal and underscores.
func parseFloat(text string) (float64, error) {
	if text == "" || strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}
