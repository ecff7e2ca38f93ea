package jinja

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Undefined is what a name or member that does not exist gives. It prints as
// nothing, is false, and fails when it is used further.
type Undefined struct{ Reason string }

// Tuple is a list that prints with round brackets.
type Tuple []any

// Dict is a mapping in the order in which its keys came.
type Dict struct {
	keys   []any
	values map[any]any
}

// NewDict returns a dict of keys and values in turn.
func NewDict(pairs ...any) *Dict {
	d := &Dict{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.set(0, pairs[i], pairs[i+1])
	}
	return d
}

func (d *Dict) set(line int, key, value any) {
	key = hashable(line, key)
	if d.values == nil {
		d.values = map[any]any{}
	}
	if _, known := d.values[key]; !known {
		d.keys = append(d.keys, key)
	}
	d.values[key] = value
}

func (d *Dict) get(key any) (any, bool) {
	switch key.(type) {
	case nil, bool, int, float64, string:
		v, ok := d.values[hashable(0, key)]
		return v, ok
	}
	return nil, false
}

// hashable returns the form of a key: numbers that are equal are one key.
func hashable(line int, key any) any {
	switch k := key.(type) {
	case nil, int, string:
		return k
	case bool:
		return number01(k)
	case float64:
		if k == math.Trunc(k) && math.Abs(k) < 1<<53 {
			return int(k)
		}
		return k
	}
	fail(line, "unhashable type: '%s'", typeName(key))
	return nil
}

func number01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Namespace is an object with members that a template may set.
type Namespace struct{ names map[string]any }

// Function is anything that can be called.
type Function func(*Call) any

// From turns a Go value into a template's: maps become dicts with sorted keys.
func From(v any) any {
	switch v := v.(type) {
	case map[string]any:
		d := &Dict{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			d.set(0, key, From(v[key]))
		}
		return d
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = From(item)
		}
		return items
	case int64:
		return int(v)
	case func(string) string:
		return Function(func(c *Call) any { return v(str(c.argument(0, "", ""))) })
	}
	return v
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case []any:
		return "list"
	case Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case Undefined:
		return "Undefined"
	case Function:
		return "function"
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", v), "*jinja."))
}

func missing(of any, name string) Undefined {
	if s, ok := of.(string); ok && s == "loop" {
		return Undefined{"'loop' has no attribute '" + name + "'"}
	}
	return Undefined{"'" + typeName(of) + " object' has no attribute '" + name + "'"}
}

// defined fails for an undefined value.
func defined(line int, values ...any) {
	for _, v := range values {
		if u, ok := v.(Undefined); ok {
			fail(line, "%s", u.Reason)
		}
	}
}

// truth is bool(v).
func truth(v any) bool {
	switch v := v.(type) {
	case nil, Undefined:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case Tuple:
		return len(v) > 0
	case *Dict:
		return len(v.keys) > 0
	}
	return true
}

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
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+")[:map[bool]int{true: 3, false: 4}[f > 0]]
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

// list is list(v): the elements that a for statement visits.
func list(line int, v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case Tuple:
		return v
	case Undefined:
		return nil
	case *Dict:
		return v.keys
	case string:
		items := make([]any, 0, len(v))
		for _, r := range v {
			items = append(items, string(r))
		}
		return items
	}
	fail(line, "'%s' object is not iterable", typeName(v))
	return nil
}
