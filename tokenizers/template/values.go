package template

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// undefined is the value of a name or member that does not exist. It prints as nothing and is false; any other use
// fails with the reason.
type undefined struct{ reason string }

// tuple is a list that cannot be changed and prints with round brackets.
type tuple []any

// namespace is an object with members that a template may set.
type namespace struct{ names map[string]any }

// function is a value that can be called.
type function func(*call) any

// fromGo converts a Go value to a value of templates, as Render documents.
func fromGo(v any) any {
	switch v := v.(type) {
	case map[string]any:
		d := &Dict{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			d.put(key, key, fromGo(v[key]))
		}
		return d
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = fromGo(item)
		}
		return items
	case int64:
		return int(v)
	case func(string) string:
		return function(func(c *call) any {
			text := v(str(c.evaluation, c.argument(0, "", "")))
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
	case tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case undefined:
		return "Undefined"
	case function:
		return "function"
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", v), "*template."))
}

// missingAttribute is the value of an attribute that does not exist.
func missingAttribute(of any, name string) undefined {
	return undefined{"'" + typeName(of) + " object' has no attribute '" + name + "'"}
}

// requireDefined fails for an undefined value.
func requireDefined(e evaluation, values ...any) {
	for _, v := range values {
		if u, ok := v.(undefined); ok {
			e.fail("%s", u.reason)
		}
	}
}

// truth returns bool(v).
func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *Dict:
		return len(v.keys) > 0
	}
	items, ok := sequence(v)
	return !ok || len(items) > 0
}

// sequence returns the items of a list or tuple.
func sequence(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case tuple:
		return v, true
	}
	return nil, false
}

// sequences returns the items of two lists or of two tuples.
func sequences(a, b any) (items, others []any, ok bool) {
	items, ok = sequence(a)
	others, ok2 := sequence(b)
	return items, others, ok && ok2 && typeName(a) == typeName(b)
}

// sequenceLike returns items as a tuple if v is one, else as a list.
func sequenceLike(v any, items []any) any {
	if _, ok := v.(tuple); ok {
		return tuple(items)
	}
	return items
}

// elements returns list(v), the elements that a for statement visits, and charges for them.
func elements(e evaluation, v any) []any {
	if items, ok := sequence(v); ok {
		e.charge(len(items))
		return items
	}
	switch v := v.(type) {
	case undefined:
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

// Dict is a mapping that keeps the order in which keys were added.
type Dict struct {
	keys, values []any
	index        map[any]int // by hashKey: the index of the key in keys, and of its value in values
}

// NewDict returns a dict of alternating keys, which are strings, and values.
func NewDict(pairs ...any) *Dict {
	d := &Dict{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.put(pairs[i], pairs[i], pairs[i+1])
	}
	return d
}

func (d *Dict) set(e evaluation, key, value any) { d.put(hashKey(e, key), key, value) }

func (d *Dict) put(hashed, key, value any) {
	if i, known := d.index[hashed]; known {
		d.values[i] = value
		return
	}
	if d.index == nil {
		d.index = map[any]int{}
	}
	d.index[hashed] = len(d.keys)
	d.keys = append(d.keys, key)
	d.values = append(d.values, value)
}

func (d *Dict) get(e evaluation, key any) (any, bool) {
	switch key.(type) {
	case nil, bool, int, float64, string, tuple:
	default:
		return nil, false
	}
	if i, ok := d.index[hashKey(e, key)]; ok {
		return d.values[i], true
	}
	return nil, false
}

// hashKey returns a comparable form of a key, for Go maps. Equal keys have equal forms.
func hashKey(e evaluation, key any) any { return hashKeyAt(e, key, 0) }

func hashKeyAt(e evaluation, key any, depth int) any {
	switch k := key.(type) {
	case nil, int:
		return k
	case string:
		e.chargeText(len(k))
		return k
	case bool:
		return boolToInt(k)
	case float64:
		if k == math.Trunc(k) && k >= math.MinInt && k < -math.MinInt {
			return int(k)
		}
		return k
	case undefined:
		return undefined{}
	case tuple:
		e.checkDepth(depth)
		return hashTuple(e, k, depth)
	}
	e.fail("unhashable type: '%s'", typeName(key))
	return nil
}

// tupleKey is the hashKey of a tuple.
type tupleKey string

func hashTuple(e evaluation, items tuple, depth int) tupleKey {
	var b strings.Builder
	for _, item := range elements(e, items) {
		element := hashKeyAt(e, item, depth+1)
		text := fmt.Sprint(element)
		e.chargeText(len(text))
		fmt.Fprintf(&b, "%T %d %s,", element, len(text), text)
	}
	return tupleKey(b.String())
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// dictMethod returns a method of a dict, or nil.
func dictMethod(d *Dict, name string) any {
	switch name {
	case "items":
		return function(func(c *call) any { return d.items(c.evaluation) })
	case "keys":
		return function(func(*call) any { return d.keys })
	case "values":
		return function(func(*call) any { return d.values })
	case "get":
		return function(func(c *call) any {
			if v, ok := d.get(c.evaluation, c.argument(0, "key", nil)); ok {
				return v
			}
			return c.argument(1, "default", nil)
		})
	case "copy":
		return function(func(*call) any { return d })
	case "update", "pop", "popitem", "setdefault", "clear":
		return unsafeMethod("dict", name)
	}
	return nil
}

// unsafeMethod returns a method that changes its object, which the sandbox refuses.
func unsafeMethod(typeName, name string) function {
	return func(c *call) any {
		c.fail("access to attribute '%s' of '%s' object is unsafe.", name, typeName)
		return nil
	}
}

func (d *Dict) items(e evaluation) []any {
	e.charge(len(d.keys))
	pairs := make([]any, len(d.keys))
	for i, key := range d.keys {
		pairs[i] = tuple{key, d.values[i]}
	}
	return pairs
}
