package template

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// str returns str(v).
func str(e evaluation, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case undefined:
		return ""
	}
	return repr(e, v)
}

// repr returns repr(v): how a value prints inside another.
func repr(e evaluation, v any) string {
	p := printer{evaluation: e}
	p.value(v, 0)
	return p.out.String()
}

type printer struct {
	evaluation
	out strings.Builder
}

func (p *printer) value(v any, depth int) {
	p.checkDepth(depth)
	switch v := v.(type) {
	case nil:
		p.out.WriteString("None")
	case bool:
		if v {
			p.out.WriteString("True")
		} else {
			p.out.WriteString("False")
		}
	case int:
		p.out.WriteString(strconv.Itoa(v))
	case float64:
		p.out.WriteString(formatFloat(v))
	case string:
		p.chargeText(len(v))
		text := reprString(v)
		p.charge(max(0, len(text)-len(v)) / 3) // a step for each character written as an escape
		p.out.WriteString(text)
	case []any:
		p.out.WriteByte('[')
		p.items(v, depth)
		p.out.WriteByte(']')
	case tuple:
		p.out.WriteByte('(')
		p.items(v, depth)
		if len(v) == 1 {
			p.out.WriteByte(',')
		}
		p.out.WriteByte(')')
	case *Dict:
		p.dict(v, depth)
	default:
		p.out.WriteString(typeName(v))
	}
}

func (p *printer) items(items []any, depth int) {
	p.charge(len(items))
	for i, item := range items {
		if i > 0 {
			p.out.WriteString(", ")
		}
		p.value(item, depth+1)
	}
}

func (p *printer) dict(d *Dict, depth int) {
	p.charge(len(d.keys))
	p.out.WriteByte('{')
	for i, key := range d.keys {
		if i > 0 {
			p.out.WriteString(", ")
		}
		p.value(key, depth+1)
		p.out.WriteString(": ")
		p.value(d.values[i], depth+1)
	}
	p.out.WriteByte('}')
}

// formatFloat returns repr(f): the shortest text that reads back as f.
func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		format = 'e'
	}
	text := strconv.FormatFloat(f, format, -1, 64)
	if format == 'f' && !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// simpleEscapes are the one-character escapes of Python's string literals.
var simpleEscapes = map[byte]string{
	'\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
	'\n': "",
}

// unescape returns the value of a string literal, given without its quotes. An escape that Python does not know stays.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if plain, ok := simpleEscapes[s[i]]; ok {
			b.WriteString(plain)
			continue
		}
		width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		if width > 0 && i+width < len(s) {
			if code, err := strconv.ParseUint(s[i+1:i+1+width], 16, 32); err == nil {
				b.WriteRune(rune(code))
				i += width
				continue
			}
		}
		b.WriteByte('\\')
		b.WriteByte(s[i])
	}
	return b.String()
}

// reprString returns repr(s).
func reprString(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte(quote)
	return b.String()
}
