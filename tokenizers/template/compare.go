package template

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// numeric returns a number as a float, and an integer or bool also as an int; ok is false for other values.
func numeric(v any) (n int, f float64, isInt, ok bool) {
	switch v := v.(type) {
	case bool:
		return boolToInt(v), float64(boolToInt(v)), true, true
	case int:
		return v, float64(v), true, true
	case float64:
		return 0, v, false, true
	}
	return 0, 0, false, false
}

// compareNumbers compares two numbers exactly, as Python does, without rounding an integer to a float; ok is false if a
// value is no number. NaN compares equal to every number, so callers check for it.
func compareNumbers(a, b any) (order int, ok bool) {
	n1, f1, isInt1, ok1 := numeric(a)
	n2, f2, isInt2, ok2 := numeric(b)
	switch {
	case !ok1 || !ok2:
		return 0, false
	case isNaN(a) || isNaN(b):
		return 0, true
	case isInt1 && isInt2:
		return cmp.Compare(n1, n2), true
	case isInt1:
		return compareWithFloat(n1, f2), true
	case isInt2:
		return -compareWithFloat(n2, f1), true
	}
	return cmp.Compare(f1, f2), true
}

func compareWithFloat(n int, f float64) int {
	switch { // the range of int
	case f >= -math.MinInt:
		return -1
	case f < math.MinInt:
		return 1
	}
	truncated := math.Trunc(f)
	return cmp.Or(cmp.Compare(n, int(truncated)), cmp.Compare(truncated, f))
}

func isNaN(v any) bool {
	f, ok := v.(float64)
	return ok && math.IsNaN(f)
}

// equal returns a == b.
func equal(e evaluation, a, b any) bool { return equalAt(e, a, b, 0) }

func equalAt(e evaluation, a, b any, depth int) bool {
	e.checkDepth(depth)
	if order, ok := compareNumbers(a, b); ok {
		return order == 0 && !isNaN(a) && !isNaN(b)
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		s, ok := b.(string)
		if ok && len(a) == len(s) {
			e.chargeText(len(a))
		}
		return ok && a == s
	case undefined:
		_, ok := b.(undefined)
		return ok
	case []any, tuple:
		items, others, ok := sequences(a, b)
		if !ok || len(items) != len(others) {
			return false
		}
		e.charge(len(items))
		return slices.EqualFunc(items, others, func(v, w any) bool { return equalAt(e, v, w, depth+1) })
	case *Dict:
		other, ok := b.(*Dict)
		if !ok || len(a.keys) != len(other.keys) {
			return false
		}
		e.charge(len(a.keys))
		for i, key := range a.keys {
			v, ok := other.get(e, key)
			if !ok || !equalAt(e, a.values[i], v, depth+1) {
				return false
			}
		}
		return true
	case *namespace, *loopState:
		return a == b
	}
	return false
}

// order returns a negative number for a < b, a positive one for a > b, and 0 otherwise. op is for the error.
func order(e evaluation, op string, a, b any) int {
	requireDefined(e, a, b)
	e.charge(1)
	if order, ok := compareNumbers(a, b); ok {
		return order
	}
	s1, ok1 := a.(string)
	s2, ok2 := b.(string)
	if ok1 && ok2 {
		e.chargeText(min(len(s1), len(s2)))
		return strings.Compare(s1, s2)
	}
	if l1, l2, ok := sequences(a, b); ok {
		for i := range min(len(l1), len(l2)) {
			e.charge(1)
			if !equal(e, l1[i], l2[i]) { // equal bounds the depth
				return order(e, op, l1[i], l2[i])
			}
		}
		return len(l1) - len(l2)
	}
	e.fail("'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
	return 0
}

// compare returns a op b.
func compare(e evaluation, op string, a, b any) bool {
	switch op {
	case "==":
		return equal(e, a, b)
	case "!=":
		return !equal(e, a, b)
	case "in":
		return contains(e, b, a)
	case "not in":
		return !contains(e, b, a)
	}
	n := order(e, op, a, b)
	switch {
	case isNaN(a) || isNaN(b):
		return false
	case op == "<":
		return n < 0
	case op == "<=":
		return n <= 0
	case op == ">":
		return n > 0
	}
	return n >= 0
}

// contains returns item in of.
func contains(e evaluation, of, item any) bool {
	switch of := of.(type) {
	case string:
		s, ok := item.(string)
		if !ok {
			requireDefined(e, item)
			e.fail("'in <string>' requires string as left operand, not %s", typeName(item))
		}
		e.chargeSearch(of, s)
		return strings.Contains(of, s)
	case *Dict:
		_, found := of.get(e, item)
		return found
	case []any, tuple, undefined:
		return slices.ContainsFunc(elements(e, of), func(v any) bool { return equal(e, v, item) })
	}
	e.fail("argument of type '%s' is not iterable", typeName(of))
	return false
}
