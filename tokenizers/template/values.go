package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Undefined is what a name or member that does not exist gives. It prints as nothing, is false, and fails when it is
// used further.
type Undefined struct{ Reason string }

// Tuple is a list that prints with round brackets.
type Tuple []any

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
			d.put(key, key, From(v[key]))
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
		return Function(func(c *Call) any {
			text := v(str(c.eval, c.argument(0, "", "")))
			c.chargeText(len(text))
			return text
		})
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
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", v), "*template."))
}

func missing(of any, name string) Undefined {
	if s, ok := of.(string); ok && s == "loop" {
		return Undefined{"'loop' has no attribute '" + name + "'"}
	}
	return Undefined{"'" + typeName(of) + " object' has no attribute '" + name + "'"}
}

// requireDefined fails for an undefined value.
func requireDefined(e eval, values ...any) {
	for _, v := range values {
		if u, ok := v.(Undefined); ok {
			e.fail("%s", u.Reason)
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

// list returns list(v), the elements that a for statement visits, and charges for visiting them.
func list(e eval, v any) []any {
	switch v := v.(type) {
	case []any:
		e.charge(len(v))
		return v
	case Tuple:
		e.charge(len(v))
		return v
	case Undefined:
		return nil
	case *Dict:
		e.charge(len(v.keys))
		return v.keys
	case string:
		e.charge(len(v))
		items := make([]any, 0, len(v))
		for _, r := range v {
			items = append(items, string(r))
		}
		return items
	}
	e.fail("'%s' object is not iterable", typeName(v))
	return nil
}
