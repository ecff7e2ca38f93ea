package template

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
)

// filterJSON is transformers' tojson: json.dumps with ensure_ascii=False by default.
func filterJSON(c *call, v any) any {
	w := &jsonWriter{
		evaluation: c.evaluation, comma: ", ", colon: ": ",
		ascii: c.flag(0, "ensure_ascii"), sort: c.flag(3, "sort_keys"),
	}
	switch indent := c.argument(1, "indent", nil).(type) {
	case int:
		w.multiline = true
		w.indent = c.padding(" ", indent)
	case string:
		w.multiline = true
		w.indent = indent
	}
	if w.multiline {
		w.comma = ","
	}
	if separators, ok := sequence(c.argument(2, "separators", nil)); ok && len(separators) == 2 {
		w.comma = str(c.evaluation, separators[0])
		w.colon = str(c.evaluation, separators[1])
	}
	w.value(v, 0)
	return w.String()
}

type jsonWriter struct {
	evaluation
	strings.Builder
	indent, comma, colon string
	multiline            bool
	ascii, sort          bool
}

func (w *jsonWriter) value(v any, depth int) {
	w.checkDepth(depth)
	switch v := v.(type) {
	case nil, bool, int, float64:
		w.WriteString(jsonScalar(v))
	case string:
		w.text(v)
	case []any:
		w.collection('[', ']', len(v), depth, func(i int) { w.value(v[i], depth+1) })
	case tuple:
		w.value([]any(v), depth)
	case *Dict:
		w.dict(v, depth)
	default:
		w.fail("Object of type %s is not JSON serializable", typeName(v))
	}
}

// jsonScalar returns None, a bool or a number as JSON writes it, as a value or as a key.
func jsonScalar(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		}
		return formatFloat(v)
	}
	return "null"
}

func (w *jsonWriter) dict(d *Dict, depth int) {
	var order []int // of the indices of keys, if they are sorted
	if w.sort {
		for _, pair := range sortPairs(w.evaluation, keyedBy(w.evaluation, d.keys, nil, true), false) {
			order = append(order, d.index[hashKey(w.evaluation, pair.key)])
		}
	}
	w.collection('{', '}', len(d.keys), depth, func(i int) {
		if w.sort {
			i = order[i]
		}
		switch key := d.keys[i].(type) {
		case string:
			w.text(key)
		case nil, bool, int, float64:
			w.text(jsonScalar(key))
		default:
			w.fail("keys must be str, int, float, bool or None, not %s", typeName(key))
		}
		w.WriteString(w.colon)
		w.value(d.values[i], depth+1)
	})
}

// collection writes n members between brackets.
func (w *jsonWriter) collection(open, shut byte, n, depth int, member func(int)) {
	w.charge(n)
	w.WriteByte(open)
	for i := range n {
		w.chargeText(len(w.comma) + len(w.colon))
		if i > 0 {
			w.WriteString(w.comma)
		}
		w.newline(depth + 1)
		member(i)
	}
	if n > 0 {
		w.newline(depth)
	}
	w.WriteByte(shut)
}

func (w *jsonWriter) newline(depth int) {
	if w.multiline {
		w.chargeText(len(w.indent) * depth)
		w.WriteString("\n" + strings.Repeat(w.indent, depth))
	}
}

// jsonEscapes are the characters that json.dumps escapes with a backslash and a letter.
var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func (w *jsonWriter) text(s string) {
	w.chargeText(len(s))
	w.WriteByte('"')
	for _, r := range s {
		short, escaped := jsonEscapes[r]
		switch {
		case escaped:
			w.WriteString(short)
		case r < ' ' || w.ascii && r > '~':
			w.charge(1)
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(w, `\u%04x`, unit)
			}
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}
