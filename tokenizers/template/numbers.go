package template

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

func filterAbs(c *call, v any) any {
	n, f, isInt, ok := numeric(v)
	switch {
	case !ok:
		c.fail("bad operand type for abs(): '%s'", typeName(v))
	case isInt && n < 0:
		return integerOperation(c.evaluation, "-", 0, n)
	case isInt:
		return n
	}
	return math.Abs(f)
}

func filterFloat(c *call, v any) any {
	requireDefined(c.evaluation, v)
	if _, f, _, ok := numeric(v); ok {
		return f
	}
	if text, ok := v.(string); ok {
		c.chargeText(len(text))
		if f, ok := parseFloat(c.evaluation, text); ok {
			return f
		}
	}
	return c.argument(0, "default", 0.0)
}

func filterInt(c *call, v any) any {
	requireDefined(c.evaluation, v)
	n, f, isInt, isNumber := numeric(v)
	text, isText := v.(string)
	isFloat := isNumber && !isInt
	switch {
	case isInt:
		return n
	case isFloat && math.IsInf(f, 0):
		c.fail("cannot convert float infinity to integer")
	case isText:
		c.chargeText(len(text))
		digits, base := integerDigits(text, c.integer(1, "base", 10))
		n, err := strconv.ParseInt(digits, base, 64)
		if err == nil {
			return int(n)
		}
		if errors.Is(err, strconv.ErrRange) {
			c.overflow("a text of %d digits", len(digits))
		}
		f, isFloat = parseFloat(c.evaluation, text)
	}
	if !isFloat || math.IsNaN(f) || math.IsInf(f, 0) {
		return c.argument(0, "default", 0)
	}
	return floatToInt(c.evaluation, f)
}

// floatToInt returns int(f).
func floatToInt(e evaluation, f float64) int {
	if f >= -math.MinInt || f < math.MinInt {
		e.overflow("%v", formatFloat(f))
	}
	return int(f)
}

// integerDigits converts the arguments of Python's int(text, base) to those of strconv.ParseInt; digits is "" if Python
// refuses the text.
func integerDigits(text string, base int) (digits string, parseBase int) {
	text = strings.TrimFunc(text, unicode.IsSpace)
	sign := ""
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		sign, text = text[:1], text[1:]
	}
	if len(text) > 1 && text[0] == '0' {
		prefixBase := map[byte]int{'b': 2, 'o': 8, 'x': 16}[text[1]|0x20]
		if prefixBase > 0 && (base == prefixBase || base == 0) {
			text = strings.TrimPrefix(text[2:], "_")
			base = prefixBase
		}
	}
	if base == 0 {
		if strings.HasPrefix(text, "0") && strings.Trim(text, "0_") != "" {
			return "", 10
		}
		base = 10
	}
	if base == 1 || strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		return "", 10
	}
	text, ok := stripUnderscores(text)
	if !ok {
		return "", 10
	}
	return sign + text, base
}

// stripUnderscores removes the underscores from a number; ok is false if one is not between two digits.
func stripUnderscores(text string) (digits string, ok bool) {
	for i := range len(text) {
		if text[i] != '_' {
			continue
		}
		if i == 0 || i == len(text)-1 || !isLetterOrDigit(text[i-1]) || !isLetterOrDigit(text[i+1]) {
			return "", false
		}
	}
	return strings.ReplaceAll(text, "_", ""), true
}

// isLetterOrDigit reports whether a byte is a digit in some base up to 36.
func isLetterOrDigit(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
}

// parseFloat returns Python's float(text).
func parseFloat(e evaluation, text string) (f float64, ok bool) {
	e.charge(decimalSteps)
	text, ok = stripUnderscores(strings.TrimFunc(text, unicode.IsSpace))
	if !ok || strings.ContainsAny(text, "xXpP") { // ParseFloat reads hexadecimal numbers, Python does not
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange) // a number that is too large is infinite
}

func filterRound(c *call, v any) any {
	n, f, isInt, ok := numeric(v)
	if !ok {
		requireDefined(c.evaluation, v)
		c.fail("type %s doesn't define __round__ method", typeName(v))
	}
	precision := c.integer(0, "precision", 0)
	switch method := c.argument(1, "method", "common"); {
	case method == "common" && isInt:
		return roundInteger(c.evaluation, n, precision)
	case method == "common":
		return roundFloat(c.evaluation, f, precision)
	case method != "ceil" && method != "floor":
		c.fail("method must be common, ceil or floor")
	case isInt && precision >= 0:
		return float64(n)
	}
	scale := arithmetic(c.evaluation, "**", 10, precision)
	scaled := arithmetic(c.evaluation, "*", v, scale)
	if f, ok := scaled.(float64); ok {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			c.fail("cannot convert float %s to integer", formatFloat(f))
		}
		scaled = math.Ceil(f)
		if c.argument(1, "method", "") == "floor" {
			scaled = math.Floor(f)
		}
		scaled = scaled.(float64) + 0 // no negative zero: Python rounds to an integer
	}
	return arithmetic(c.evaluation, "/", scaled, scale)
}

// Rounding to more than maxPrecision digits leaves every float as it is; to less than minPrecision, it gives zero.
const (
	maxPrecision = 323
	minPrecision = -308
)

func roundInteger(e evaluation, n, precision int) int {
	if precision >= 0 {
		return n
	}
	rounded := roundRational(new(big.Rat).SetInt64(int64(n)), max(precision, minPrecision))
	if !rounded.IsInt64() {
		e.overflow("%d rounded to %d digits", n, precision)
	}
	return int(rounded.Int64())
}

func roundFloat(e evaluation, f float64, precision int) float64 {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0) || precision > maxPrecision:
		return f
	case precision < minPrecision:
		return math.Copysign(0, f)
	case precision >= 0:
		e.charge(decimalSteps)
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', precision, 64), 64)
		return rounded
	}
	e.charge(decimalSteps)
	rounded, _ := new(big.Float).SetInt(roundRational(new(big.Rat).SetFloat64(f), precision)).Float64()
	if math.IsInf(rounded, 0) {
		e.fail("rounded value too large to represent")
	}
	return math.Copysign(rounded, f)
}

// roundRational rounds to a multiple of 10^-precision, half to even; precision is negative.
func roundRational(x *big.Rat, precision int) *big.Int {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-precision)), nil)
	denominator := new(big.Int).Mul(x.Denom(), unit)
	floor, remainder := new(big.Int).DivMod(x.Num(), denominator, new(big.Int))
	half := remainder.Lsh(remainder, 1).Cmp(denominator)
	if half > 0 || half == 0 && floor.Bit(0) == 1 {
		floor.Add(floor, big.NewInt(1))
	}
	return floor.Mul(floor, unit)
}
