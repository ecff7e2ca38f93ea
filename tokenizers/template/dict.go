package template

import (
	"math"
)

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

func dictMethod(d *Dict, name string) any {
	switch name {
	case "items":
		return Function(func(*Call) any { return d.items() })
	case "keys":
		return Function(func(*Call) any { return d.keys })
	case "values":
		return Function(func(*Call) any {
			values := make([]any, len(d.keys))
			for i, key := range d.keys {
				values[i] = d.values[key]
			}
			return values
		})
	case "get":
		return Function(func(c *Call) any {
			if v, ok := d.get(c.argument(0, "key", nil)); ok {
				return v
			}
			return c.argument(1, "default", nil)
		})
	case "copy":
		return Function(func(*Call) any { return d })
	case "update", "pop", "popitem", "setdefault", "clear":
		return Function(func(c *Call) any {
			fail(c.Line, "access to attribute '%s' of 'dict' object is unsafe.", name)
			return nil
		})
	}
	return nil
}

func (d *Dict) items() []any {
	pairs := make([]any, len(d.keys))
	for i, key := range d.keys {
		pairs[i] = Tuple{key, d.values[key]}
	}
	return pairs
}
