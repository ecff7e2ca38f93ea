package template

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
)

// filterJSON is transformers' tojson: json.dumps that keeps characters beyond ASCII, with its separators, and the order
// of keys unless asked to sort.
func filterJSON(c *Call, v any) any {
	w := &jsonWriter{
		call: c, comma: ", ", colon: ": ",
		ascii: truth(c.argument(0, "ensure_ascii", false)), sort: truth(c.argument(3, "sort_keys", false)),
	}
	switch indent := c.argument(1, "indent", nil).(type) {
	case int:
		w.lines = true
		w.comma = ","
		w.indent = strings.Repeat(" ", min(max(0, indent), 64))
	case string:
		w.lines = true
		w.comma = ","
		w.indent = indent
	}
	if separators, ok := sequence(c.argument(2, "separators", nil)); ok && len(separators) == 2 {
		w.comma = str(separators[0])
		w.colon = str(separators[1])
	}
	w.value(v, 0)
	return w.String()
}

type jsonWriter struct {
	strings.Builder
	call                 *Call
	indent, comma, colon string
	lines, ascii, sort   bool
}

func (w *jsonWriter) value(v any, depth int) {
	if depth > mostDepth {
		fail(w.call.Line, "value is nested too deeply")
	}
	switch v := v.(type) {
	case nil:
		w.WriteString("null")
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int, float64:
		w.WriteString(python(v))
	case string:
		w.text(v)
	case []any:
		w.group('[', ']', len(v), depth, func(i int) { w.value(v[i], depth+1) })
	case Tuple:
		w.value([]any(v), depth)
	case *Dict:
		keys := v.keys
		if w.sort {
			keys = sorted(w.call, keys, nil, true, false)
		}
		w.group('{', '}', len(keys), depth, func(i int) {
			w.key(keys[i])
			w.WriteString(w.colon)
			w.value(v.values[keys[i]], depth+1)
		})
	default:
		fail(w.call.Line, "Object of type %s is not JSON serializable", typeName(v))
	}
}

func (w *jsonWriter) key(key any) {
	if key == nil {
		key = "null"
	}
	w.text(str(key))
}

func (w *jsonWriter) group(open, shut byte, n, depth int, member func(int)) {
	w.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.WriteString(w.comma)
		}
		w.line(depth + 1)
		member(i)
	}
	if n > 0 {
		w.line(depth)
	}
	w.WriteByte(shut)
}

func (w *jsonWriter) line(depth int) {
	if w.lines {
		w.WriteString("\n" + strings.Repeat(w.indent, depth))
	}
}

func (w *jsonWriter) text(s string) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		fail(w.call.Line, "%s", err)
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	// Go escapes these two for JavaScript's sake; Python does not.
	quoted = strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(quoted)
	if !w.ascii {
		w.WriteString(quoted)
		return
	}
	for _, r := range quoted {
		if r < 0x80 {
			w.WriteByte(byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			w.WriteString(`\u` + hex(rune(unit), 4))
		}
	}
}
