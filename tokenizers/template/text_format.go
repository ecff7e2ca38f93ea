package template

import (
	"fmt"
	"strings"
)

// formatted is the % operator, with the conversions s, r, d, i, f and x.
func formatted(line int, format string, values []any) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		end := i + 1
		for end < len(format) && strings.IndexByte("0123456789.+- #", format[end]) >= 0 {
			end++
		}
		if end == len(format) {
			fail(line, "incomplete format")
		}
		flags := format[i:end]
		verb := format[end]
		i = end
		if verb == '%' {
			b.WriteByte('%')
			continue
		}
		if len(values) == 0 {
			fail(line, "not enough arguments for format string")
		}
		b.WriteString(converted(line, flags, verb, values[0]))
		values = values[1:]
	}
	if len(values) > 0 {
		fail(line, "not all arguments converted during string formatting")
	}
	return b.String()
}

func converted(line int, flags string, verb byte, v any) string {
	n, f, whole, ok := numeric(v)
	switch {
	case verb == 's':
		return fmt.Sprintf(flags+"s", str(v))
	case verb == 'r':
		return fmt.Sprintf(flags+"s", python(v))
	case !ok:
		fail(line, "%%%c format: a real number is required, not %s", verb, typeName(v))
	case verb == 'd' || verb == 'i':
		if !whole {
			n = int(f)
		}
		return fmt.Sprintf(flags+"d", n)
	case verb == 'x' || verb == 'X' || verb == 'o':
		return fmt.Sprintf(flags+string(verb), n)
	case strings.IndexByte("feEgG", verb) >= 0:
		return fmt.Sprintf(flags+string(verb), f)
	}
	fail(line, "unsupported format character '%c'", verb)
	return ""
}

// braces is str.format with {}, {0} and {name}, without format specifications.
func braces(c *Call, s string) string {
	var b strings.Builder
	next := 0
	for {
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
			fail(c.Line, "Single '%c' encountered in format string", s[i])
		}
		field := s[i+1 : end]
		s = s[end+1:]
		at := next
		if field == "" {
			next++
		} else if _, err := fmt.Sscanf(field, "%d", &at); err != nil {
			at = len(c.Args)
		}
		v := c.argument(at, field, Undefined{"no value for the field '" + field + "'"})
		defined(c.Line, v)
		b.WriteString(str(v))
	}
}
