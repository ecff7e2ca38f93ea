package template

import (
	"math"
	"strconv"
	"strings"
)

// str is str(v): how a value prints.
func str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case Undefined:
		return ""
	}
	return python(v)
}

// python is repr(v): how a value prints inside another.
func python(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(v)
	case float64:
		return floating(v)
	case string:
		return repr(v)
	case []any:
		return "[" + joined(v) + "]"
	case Tuple:
		if len(v) == 1 {
			return "(" + python(v[0]) + ",)"
		}
		return "(" + joined(v) + ")"
	case *Dict:
		members := make([]string, len(v.keys))
		for i, key := range v.keys {
			members[i] = python(key) + ": " + python(v.values[key])
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	return typeName(v)
}

func joined(items []any) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = python(item)
	}
	return strings.Join(texts, ", ")
}

// floating is repr of a float: the shortest text that reads back as it.
func floating(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		format = 'e'
	}
	text := strconv.FormatFloat(f, format, -1, 64)
	if format == 'f' && !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
