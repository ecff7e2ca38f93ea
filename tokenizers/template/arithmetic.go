package template

import (
	"math"
	"slices"
	"strings"
)

func arithmetic(line int, op string, a, b any) any {
	if op == "~" {
		return str(a) + str(b)
	}
	defined(line, a, b)
	n1, f1, whole1, ok1 := numeric(a)
	n2, f2, whole2, ok2 := numeric(b)
	switch {
	case ok1 && ok2 && whole1 && whole2:
		return integers(line, op, n1, n2)
	case ok1 && ok2:
		return floats(line, op, f1, f2)
	case op == "+":
		if sum, ok := concatenated(a, b); ok {
			return sum
		}
	case op == "*" && ok2 && whole2:
		if product, ok := repeated(line, a, n2); ok {
			return product
		}
	case op == "*" && ok1 && whole1:
		if product, ok := repeated(line, b, n1); ok {
			return product
		}
	case op == "%":
		if format, ok := a.(string); ok {
			values, isTuple := b.(Tuple)
			if !isTuple {
				values = Tuple{b}
			}
			return formatted(line, format, values)
		}
	}
	fail(line, "unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(a), typeName(b))
	return nil
}

func concatenated(a, b any) (any, bool) {
	switch a := a.(type) {
	case string:
		if s, ok := b.(string); ok {
			return a + s, true
		}
	case []any:
		if more, ok := b.([]any); ok {
			return slices.Concat(a, more), true
		}
	case Tuple:
		if more, ok := b.(Tuple); ok {
			return slices.Concat(a, more), true
		}
	}
	return nil, false
}

func repeated(line int, v any, n int) (any, bool) {
	const most = 1 << 24
	n = max(n, 0)
	switch v := v.(type) {
	case string:
		if len(v) > 0 && n > most/len(v) {
			fail(line, "the repeated string is too long")
		}
		return strings.Repeat(v, n), true
	case []any:
		if len(v) > 0 && n > most/len(v) {
			fail(line, "the repeated list is too long")
		}
		return slices.Repeat(v, n), true
	}
	return nil, false
}

func integers(line int, op string, a, b int) any {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "**":
		if b < 0 {
			return floats(line, op, float64(a), float64(b))
		}
		power := 1
		for range min(b, 64) {
			power *= a
		}
		return power
	}
	if b == 0 {
		fail(line, "division by zero")
	}
	switch op {
	case "//":
		return int(math.Floor(float64(a) / float64(b)))
	case "%":
		return ((a % b) + b) % b
	}
	return float64(a) / float64(b)
}

func floats(line int, op string, a, b float64) any {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "**":
		return math.Pow(a, b)
	}
	if b == 0 {
		fail(line, "float division by zero")
	}
	switch op {
	case "//":
		return math.Floor(a / b)
	case "%":
		return a - b*math.Floor(a/b)
	}
	return a / b
}
