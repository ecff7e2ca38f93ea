package template

import (
	"slices"
	"strings"
)

// numeric returns v as a number; whole says that it is an integer or bool.
func numeric(v any) (n int, f float64, whole, ok bool) {
	switch v := v.(type) {
	case bool:
		return number01(v), float64(number01(v)), true, true
	case int:
		return v, float64(v), true, true
	case float64:
		return 0, v, false, true
	}
	return 0, 0, false, false
}

// equal is a == b.
func equal(a, b any) bool {
	if n1, f1, whole1, ok := numeric(a); ok {
		n2, f2, whole2, ok := numeric(b)
		return ok && (whole1 && whole2 && n1 == n2 || !(whole1 && whole2) && f1 == f2)
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		s, ok := b.(string)
		return ok && a == s
	case Undefined:
		_, ok := b.(Undefined)
		return ok
	case []any:
		other, ok := b.([]any)
		return ok && slices.EqualFunc(a, other, equal)
	case Tuple:
		other, ok := b.(Tuple)
		return ok && slices.EqualFunc(a, other, equal)
	case *Dict:
		other, ok := b.(*Dict)
		if !ok || len(a.keys) != len(other.keys) {
			return false
		}
		for key, v := range a.values {
			w, ok := other.values[key]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case *Namespace, *Loop:
		return a == b
	}
	return false
}

// order compares two values as <=> would.
func order(line int, op string, a, b any) int {
	defined(line, a, b)
	_, f1, _, ok1 := numeric(a)
	_, f2, _, ok2 := numeric(b)
	if ok1 && ok2 {
		switch {
		case f1 < f2:
			return -1
		case f1 > f2:
			return 1
		}
		return 0
	}
	s1, ok1 := a.(string)
	s2, ok2 := b.(string)
	if ok1 && ok2 {
		return strings.Compare(s1, s2)
	}
	l1, ok1 := sequence(a)
	l2, ok2 := sequence(b)
	if ok1 && ok2 && typeName(a) == typeName(b) {
		for i := range min(len(l1), len(l2)) {
			if !equal(l1[i], l2[i]) {
				return order(line, op, l1[i], l2[i])
			}
		}
		return len(l1) - len(l2)
	}
	fail(line, "'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
	return 0
}

func sequence(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case Tuple:
		return v, true
	}
	return nil, false
}

func compare(line int, op string, a, b any) bool {
	switch op {
	case "==":
		return equal(a, b)
	case "!=":
		return !equal(a, b)
	case "in":
		return contains(line, b, a)
	case "not in":
		return !contains(line, b, a)
	case "<":
		return order(line, op, a, b) < 0
	case "<=":
		return order(line, op, a, b) <= 0
	case ">":
		return order(line, op, a, b) > 0
	}
	return order(line, op, a, b) >= 0
}

// contains is item in of.
func contains(line int, of, item any) bool {
	switch of := of.(type) {
	case string:
		s, ok := item.(string)
		if !ok {
			defined(line, item)
			fail(line, "'in <string>' requires string as left operand, not %s", typeName(item))
		}
		return strings.Contains(of, s)
	case *Dict:
		_, found := of.get(item)
		return found
	case []any, Tuple, Undefined:
		return slices.ContainsFunc(list(line, of), func(v any) bool { return equal(v, item) })
	}
	fail(line, "argument of type '%s' is not iterable", typeName(of))
	return false
}
