package template

import (
	"math"
	"strconv"
	"strings"
)

// str is str(v): how a value prints.
func str(e eval, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case Undefined:
		return ""
	}
	return reprValue(e, v)
}

// reprValue is repr(v): how a value prints inside another.
func reprValue(e eval, v any) string {
	p := printer{eval: e}
	p.value(v, 0)
	return p.out.String()
}

type printer struct {
	eval
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
		p.out.WriteString(floating(v))
	case string:
		p.chargeText(len(v))
		text := repr(v)
		p.charge(max(0, len(text)-len(v)) / 3) // a step for each character that was written by its number
		p.out.WriteString(text)
	case []any:
		p.out.WriteByte('[')
		p.items(v, depth)
		p.out.WriteByte(']')
	case Tuple:
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

// floating is repr of a float: the shortest text that reads back as it.
func floating(f float64) string {
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
