package template

import (
	"math"
	"math/big"
	"slices"
	"strings"
)

// arithmetic returns a op b.
func arithmetic(e evaluation, op string, a, b any) any {
	if op == "~" {
		return concatText(e, str(e, a), str(e, b))
	}
	if format, ok := a.(string); ok && op == "%" {
		return formatOperand(e, format, b)
	}
	requireDefined(e, a, b)
	n1, f1, isInt1, ok1 := numeric(a)
	n2, f2, isInt2, ok2 := numeric(b)
	switch {
	case ok1 && ok2 && isInt1 && isInt2:
		return integerOperation(e, op, n1, n2)
	case ok1 && ok2:
		return floatOperation(e, op, f1, f2)
	case op == "+":
		if sum, ok := concat(e, a, b); ok {
			return sum
		}
	case op == "*" && ok2 && isInt2:
		if product, ok := repeat(e, a, n2); ok {
			return product
		}
	case op == "*" && ok1 && isInt1:
		if product, ok := repeat(e, b, n1); ok {
			return product
		}
	}
	e.fail("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(a), typeName(b))
	return nil
}

// applySign returns +v or -v.
func applySign(e evaluation, sign string, v any) any {
	requireDefined(e, v)
	n, f, isInt, ok := numeric(v)
	switch {
	case !ok:
		e.fail("bad operand type for unary %s: '%s'", sign, typeName(v))
	case isInt && sign == "-":
		return integerOperation(e, "-", 0, n)
	case isInt:
		return n
	case sign == "-":
		return -f
	}
	return f
}

func concatText(e evaluation, a, b string) string {
	e.chargeText(len(a) + len(b))
	return a + b
}

// concat returns a + b for two texts, lists or tuples.
func concat(e evaluation, a, b any) (any, bool) {
	s1, ok1 := a.(string)
	s2, ok2 := b.(string)
	if ok1 && ok2 {
		return concatText(e, s1, s2), true
	}
	l1, l2, ok := sequences(a, b)
	if !ok {
		return nil, false
	}
	e.charge(len(l1) + len(l2))
	return sequenceLike(a, slices.Concat(l1, l2)), true
}

// repeat returns v * n for a text, list or tuple.
func repeat(e evaluation, v any, n int) (any, bool) {
	const maxLength = 1 << 24
	n = max(n, 0)
	if s, ok := v.(string); ok {
		if len(s) > 0 && n > maxLength/len(s) {
			e.fail("the repeated string is too long")
		}
		e.chargeText(len(s) * n)
		return strings.Repeat(s, n), true
	}
	items, ok := sequence(v)
	if !ok {
		return nil, false
	}
	if len(items) > 0 && n > maxLength/len(items) {
		e.fail("the repeated %s is too long", typeName(v))
	}
	e.charge(len(items) * n)
	return sequenceLike(v, slices.Repeat(items, n)), true
}

func integerOperation(e evaluation, op string, a, b int) any {
	inRange := true
	result := 0
	switch op {
	case "+":
		result = a + b
		inRange = (result > a) == (b > 0)
	case "-":
		result = a - b
		inRange = (result < a) == (b > 0)
	case "*":
		result, inRange = product(a, b)
	case "**":
		if b < 0 {
			return floatOperation(e, op, float64(a), float64(b))
		}
		result, inRange = power(a, b)
	default:
		return quotient(e, op, a, b)
	}
	if !inRange {
		e.overflow("%d %s %d", a, op, b)
	}
	return result
}

// overflow fails because of an integer that int cannot hold, though Python can.
func (e evaluation) overflow(format string, args ...any) {
	e.fail("integer overflow: "+format+" is beyond 64 bits", args...)
}

// product returns a * b and whether int can hold it.
func product(a, b int) (result int, inRange bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	result = a * b
	return result, result/b == a && !(a == -1 && b == math.MinInt) && !(b == -1 && a == math.MinInt)
}

// power returns a ** b for b >= 0, and whether int can hold it.
func power(a, b int) (result int, inRange bool) {
	if a == 0 || a == 1 || a == -1 {
		b = min(b, 2-b%2) // only the parity of the exponent counts
	}
	result = 1
	for range b { // at most 63 times
		if result, inRange = product(result, a); !inRange {
			return 0, false
		}
	}
	return result, true
}

// quotient returns a / b, a // b or a % b.
func quotient(e evaluation, op string, a, b int) any {
	switch {
	case b == 0 && op == "/":
		e.fail("division by zero")
	case b == 0:
		e.fail("integer division or modulo by zero")
	case op == "/":
		// Round once, as Python does: the operands may not be exact as float64.
		f, _ := big.NewRat(int64(a), int64(b)).Float64()
		if a == 0 && b < 0 {
			f = math.Copysign(0, -1)
		}
		return f
	case op == "//" && a == math.MinInt && b == -1:
		e.overflow("%d // %d", a, b)
	}
	floor := a / b
	remainder := a % b
	if remainder != 0 && (remainder < 0) != (b < 0) {
		floor--
		remainder += b
	}
	if op == "%" {
		return remainder
	}
	return floor
}

func floatOperation(e evaluation, op string, a, b float64) any {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "**":
		return floatPower(e, a, b)
	}
	if b == 0 {
		e.fail("float division by zero")
	}
	if op == "/" {
		return a / b
	}
	floor, remainder := floatDivision(a, b)
	if op == "%" {
		return remainder
	}
	return floor
}

// floatPower returns a ** b. It fails where Python fails or returns a complex number.
func floatPower(e evaluation, a, b float64) float64 {
	if math.IsInf(a, 0) || math.IsInf(b, 0) || math.IsNaN(a) || math.IsNaN(b) {
		return math.Pow(a, b)
	}
	fractional := b != math.Floor(b)
	switch {
	case a == 0 && b < 0:
		e.fail("0.0 cannot be raised to a negative power")
	case a < 0 && fractional:
		e.fail("a negative number cannot be raised to a fractional power")
	}
	var result float64
	switch {
	case !fractional && a != 0 && math.Abs(b) <= maxExactPower:
		e.charge(decimalSteps)
		result = exactPower(a, int(b))
	case a != 0 && math.Abs(a) < 0x1p-1022: // math.Pow is wrong for subnormal numbers
		result = math.Pow(a*0x1p52, b) * math.Exp2(-52*b)
	default:
		result = math.Pow(a, b)
	}
	if math.IsInf(result, 0) {
		e.fail("Numerical result out of range")
	}
	return result
}

// maxExactPower is the largest absolute exponent for exactPower.
const maxExactPower = 1 << 16

// exactPower returns a ** b, rounded once: math.Pow is less accurate than C's pow.
func exactPower(a float64, b int) float64 {
	const precision = 256
	result := big.NewFloat(1).SetPrec(precision)
	square := big.NewFloat(a).SetPrec(precision)
	for n := max(b, -b); n > 0; n /= 2 {
		if n%2 == 1 {
			result.Mul(result, square)
		}
		square.Mul(square, square)
	}
	if b < 0 {
		result.Quo(big.NewFloat(1).SetPrec(precision), result)
	}
	f, _ := result.Float64()
	return f
}

// floatDivision returns divmod(a, b) as CPython computes it (_float_div_mod in Objects/floatobject.c).
func floatDivision(a, b float64) (floor, remainder float64) {
	remainder = math.Mod(a, b)
	ratio := (a - remainder) / b
	if remainder == 0 {
		remainder = math.Copysign(0, b)
	} else if (b < 0) != (remainder < 0) {
		remainder += b
		ratio--
	}
	if ratio == 0 {
		return math.Copysign(0, a/b), remainder
	}
	floor = math.Floor(ratio)
	if ratio-floor > 0.5 {
		floor++
	}
	return floor, remainder
}
