package template

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// formatOperand returns format % v. As in Python, a format without conversions may ignore a list, dict or undefined
// value.
func formatOperand(e evaluation, format string, v any) string {
	values, isTuple := v.(tuple)
	if !isTuple {
		values = tuple{v}
	}
	switch v.(type) {
	case []any, *Dict, undefined:
		if strings.Count(format, "%") == 2*strings.Count(format, "%%") {
			values = nil
		}
	}
	return formatValues(e, format, values)
}

// formatValues replaces the conversions of a format by values. The verbs are s, r, d, i,
// f, e, E, g, G, x, X and o.
func formatValues(e evaluation, format string, values []any) string {
	e.chargeText(len(format))
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		c := conversion{evaluation: e}
		after := c.parse(format[i+1:])
		i = len(format) - len(after) - 1
		if c.verb == '%' {
			b.WriteByte('%')
			continue
		}
		if len(values) == 0 {
			e.fail("not enough arguments for format string")
		}
		e.charge(1)
		b.WriteString(c.convert(values[0]))
		values = values[1:]
	}
	if len(values) > 0 {
		e.fail("not all arguments converted during string formatting")
	}
	return b.String()
}

// conversion is one conversion specifier of a format.
type conversion struct {
	evaluation
	flags, width string
	precision    string // with its dot; "" if none
	verb         byte
}

// parse reads the conversion at the start of a format, after its %, and returns what follows it.
func (c *conversion) parse(format string) (after string) {
	take := func(characters string) string {
		after := strings.TrimLeft(format, characters)
		prefix := format[:len(format)-len(after)]
		format = after
		return prefix
	}
	c.flags = take("-+ #0")
	c.width = take("0123456789")
	if strings.HasPrefix(format, ".") {
		format = format[1:]
		c.precision = "." + take("0123456789")
	}
	if format == "" {
		c.fail("incomplete format")
	}
	c.verb = format[0]
	return format[1:]
}

// maxWidth is the largest width or precision that package fmt accepts.
const maxWidth = 1_000_000

// convert formats a value.
func (c conversion) convert(v any) string {
	flags := c.flags
	for _, width := range []string{c.width, strings.TrimPrefix(c.precision, ".")} {
		n, _ := strconv.Atoi(width)
		if len(width) > 7 || n > maxWidth {
			c.fail("width or precision above %d", maxWidth)
		}
		c.chargeText(n)
	}
	layout := c.width + c.precision
	n, f, isInt, ok := numeric(v)
	switch {
	case c.verb == 's' || c.verb == 'r':
		text := str(c.evaluation, v)
		if c.verb == 'r' {
			text = repr(c.evaluation, v)
		}
		c.chargeText(len(text))
		if strings.Contains(flags, "-") {
			layout = "-" + layout
		}
		return fmt.Sprintf("%"+layout+"s", text)
	case !ok:
		requireDefined(c.evaluation, v)
		c.fail("%%%c format: a real number is required, not %s", c.verb, typeName(v))
	case c.verb == 'd' || c.verb == 'i':
		if !isInt {
			if math.IsNaN(f) {
				c.fail("cannot convert float NaN to integer")
			}
			n = floatToInt(c.evaluation, f)
		}
		return fmt.Sprintf("%"+flags+layout+"d", n)
	case c.verb == 'x' || c.verb == 'X' || c.verb == 'o':
		if !isInt {
			c.fail("%%%c format: an integer is required, not float", c.verb)
		}
		if c.verb == 'o' && strings.Contains(flags, "#") {
			return fmt.Sprintf("%"+strings.ReplaceAll(flags, "#", "")+layout+"O", n) // 0o17, as Python writes it
		}
		return fmt.Sprintf("%"+flags+layout+string(c.verb), n)
	case strings.IndexByte("feEgG", c.verb) >= 0:
		c.charge(decimalSteps)
		if c.precision == "" {
			layout += ".6"
		}
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return c.formatNonFinite(f)
		}
		return fmt.Sprintf("%"+flags+layout+string(c.verb), f)
	}
	c.fail("unsupported format character '%c'", c.verb)
	return ""
}

// formatNonFinite formats an infinity or NaN.
func (c conversion) formatNonFinite(f float64) string {
	text := formatFloat(math.Abs(f))
	if strings.IndexByte("EG", c.verb) >= 0 {
		text = strings.ToUpper(text)
	}
	sign := ""
	switch {
	case math.IsInf(f, -1):
		sign = "-"
	case strings.Contains(c.flags, "+"):
		sign = "+"
	case strings.Contains(c.flags, " "):
		sign = " "
	}
	n, _ := strconv.Atoi(c.width)
	missing := max(0, n-len(sign)-len(text))
	switch {
	case strings.Contains(c.flags, "-"):
		return sign + text + strings.Repeat(" ", missing)
	case strings.Contains(c.flags, "0"):
		return sign + strings.Repeat("0", missing) + text
	}
	return strings.Repeat(" ", missing) + sign + text
}

// formatBraces is str.format with the fields {}, {0} and {name}; format specifications are not supported.
func formatBraces(c *call, s string) string {
	c.chargeText(len(s))
	var b strings.Builder
	next := 0
	for {
		c.charge(1)
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			return b.String() + s
		}
		b.WriteString(s[:i])
		if i+1 < len(s) && s[i+1] == s[i] {
			b.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s, '}')
		if s[i] == '}' || end < 0 {
			c.fail("Single '%c' encountered in format string", s[i])
		}
		field := s[i+1 : end]
		s = s[end+1:]
		at := next
		if field == "" {
			next++
		} else if _, err := fmt.Sscanf(field, "%d", &at); err != nil {
			at = len(c.args)
		}
		v := c.argument(at, field, undefined{"no value for the field '" + field + "'"})
		requireDefined(c.evaluation, v)
		b.WriteString(c.readText(v))
	}
}
