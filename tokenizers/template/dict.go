package template

import (
	"fmt"
	"math"
	"strings"
)

// Dict is a mapping in the order in which its keys came.
type Dict struct {
	keys, values []any
	index        map[any]int // by hashKey: the position of the key in keys, and of its value in values
}

// NewDict returns a dict of alternating keys and values; keys are strings.
func NewDict(pairs ...any) *Dict {
	d := &Dict{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.put(pairs[i], pairs[i], pairs[i+1])
	}
	return d
}

func (d *Dict) set(e eval, key, value any) { d.put(hashKey(e, key), key, value) }

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

func (d *Dict) get(e eval, key any) (any, bool) {
	switch key.(type) {
	case nil, bool, int, float64, string, Tuple:
	default:
		return nil, false
	}
	if i, ok := d.index[hashKey(e, key)]; ok {
		return d.values[i], true
	}
	return nil, false
}

// hashKey returns a comparable form of a key, for Go maps; equal numbers have the same.
func hashKey(e eval, key any) any { return hashKeyAt(e, key, 0) }

func hashKeyAt(e eval, key any, depth int) any {
	switch k := key.(type) {
	case nil, int:
		return k
	case string:
		e.chargeText(len(k))
		return k
	case bool:
		return number01(k)
	case float64:
		if k == math.Trunc(k) && k >= math.MinInt && k < -math.MinInt {
			return int(k)
		}
		return k
	case Undefined:
		return Undefined{}
	case Tuple:
		e.checkDepth(depth)
		return hashTuple(e, k, depth)
	}
	e.fail("unhashable type: '%s'", typeName(key))
	return nil
}

// tupleKey is the hashKey of a tuple; only equal tuples have the same.
type tupleKey string

func hashTuple(e eval, items Tuple, depth int) tupleKey {
	var b strings.Builder
	for _, item := range list(e, items) {
		element := hashKeyAt(e, item, depth+1)
		text := fmt.Sprint(element)
		e.chargeText(len(text))
		fmt.Fprintf(&b, "%T %d %s,", element, len(text), text)
	}
	return tupleKey(b.String())
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
		return Function(func(c *Call) any { return d.items(c.eval) })
	case "keys":
		return Function(func(*Call) any { return d.keys })
	case "values":
		return Function(func(*Call) any { return d.values })
	case "get":
		return Function(func(c *Call) any {
			if v, ok := d.get(c.eval, c.argument(0, "key", nil)); ok {
				return v
			}
			return c.argument(1, "default", nil)
		})
	case "copy":
		return Function(func(*Call) any { return d })
	case "update", "pop", "popitem", "setdefault", "clear":
		return Function(func(c *Call) any {
			c.fail("access to attribute '%s' of 'dict' object is unsafe.", name)
			return nil
		})
	}
	return nil
}

func (d *Dict) items(e eval) []any {
	e.charge(len(d.keys))
	pairs := make([]any, len(d.keys))
	for i, key := range d.keys {
		pairs[i] = Tuple{key, d.values[i]}
	}
	return pairs
}
