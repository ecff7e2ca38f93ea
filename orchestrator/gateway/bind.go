package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// mostProblems bounds how many mismatches of one body are reported: a body of
// a million wrong numbers gets a short answer.
const mostProblems = 20

// mostSteps bounds the path of a problem in a text that is nested without end.
const mostSteps = 16

// Bind decodes one JSON object into the struct that into points to, and
// reports everything that does not fit, each with its path: members that are
// missing (tag `bind:"required"`), of the wrong type, null (unless tagged
// `bind:"nullable"`) or unknown (unless the struct has a field tagged
// `bind:"open"`). Fields keep the value they have when their member is
// absent. A type with UnmarshalJSON decodes itself and may answer with a
// *wire.Mismatch. A text with the tag `oneof:"a b"` takes only those.
//
// The rules and wording are pydantic 2's. Beyond encoding/json it refuses
// broken UTF-8 and members named twice.
func Bind(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return fault.Field("missing", nil, nil, "Field required: the body is empty, a JSON object is expected")
	}
	b := binder{dec: jsontext.NewDecoder(bytes.NewBuffer(body))}
	if err := b.value(reflect.ValueOf(into).Elem(), false); err != nil {
		return b.broken(err)
	}
	if _, err := b.dec.ReadToken(); err != io.EOF {
		if err == nil {
			return fault.Field("json_invalid", nil, nil, "JSON decode error: something follows the JSON object")
		}
		return b.broken(err)
	}
	return fault.Join(b.found...)
}

// binder walks a JSON text and a Go value side by side. Its methods return an
// error only for broken JSON; what does not fit is collected in found.
type binder struct {
	dec   *jsontext.Decoder
	path  []any
	found []*fault.Error
}

// broken tells where a text stops being JSON.
func (b *binder) broken(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return fault.Field("json_invalid", nil, b.where(), "JSON decode error: %v", err)
	}
	var path []any
	for step := range syntax.JSONPointer.Tokens() {
		if len(path) == mostSteps {
			break
		}
		if n, err := strconv.Atoi(step); err == nil {
			path = append(path, n)
		} else {
			path = append(path, step)
		}
	}
	reason := "unexpected end of the text"
	if syntax.Err != nil && !errors.Is(syntax.Err, io.ErrUnexpectedEOF) {
		reason = syntax.Err.Error()
	}
	return fault.Field("json_invalid", nil, path, "JSON decode error: %s (byte %d)", reason, syntax.ByteOffset)
}

func (b *binder) where() []any { return append([]any(nil), b.path...) }

// mismatch records that the value under the decoder does not fit and skips it.
func (b *binder) mismatch(m *wire.Mismatch) error {
	raw, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	b.report(m, raw)
	return nil
}

func (b *binder) report(m *wire.Mismatch, raw jsontext.Value) {
	if len(b.found) < mostProblems {
		b.found = append(b.found, fault.Field(m.Rule, shown(raw), append(b.where(), m.Path...), "%s", m.Message))
	}
}

// shown is the offending value as an error may repeat it: short.
func shown(raw jsontext.Value) any {
	const most = 200
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return json.RawMessage(bytes.Clone(raw))
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (b *binder) value(v reflect.Value, nullable bool) error {
	kind := b.dec.PeekKind()
	if v.Kind() == reflect.Pointer {
		if kind == 'n' && nullable {
			return b.dec.SkipValue()
		}
		target := reflect.New(v.Type().Elem())
		before := len(b.found)
		err := b.value(target.Elem(), nullable)
		if err == nil && len(b.found) == before {
			v.Set(target)
		}
		return err
	}
	if kind == 'n' && nullable {
		return b.dec.SkipValue()
	}
	if v.Addr().Type().Implements(unmarshaler) {
		return b.self(v.Addr().Interface().(json.Unmarshaler))
	}
	switch v.Kind() {
	case reflect.Struct:
		return b.object(v)
	case reflect.Slice:
		return b.list(v)
	case reflect.String:
		if kind != '"' {
			return b.mismatch(wire.NotString.At())
		}
		tok, err := b.dec.ReadToken()
		v.SetString(tok.String())
		return err
	case reflect.Bool:
		if kind != 't' && kind != 'f' {
			return b.mismatch(wire.NotBoolean.At())
		}
		tok, err := b.dec.ReadToken()
		v.SetBool(tok.Bool())
		return err
	case reflect.Int, reflect.Int64:
		return b.integer(v)
	case reflect.Float32, reflect.Float64:
		return b.float(v)
	default: // any and json.RawMessage-like types take what comes
		raw, err := b.dec.ReadValue()
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, v.Addr().Interface())
	}
}

func (b *binder) self(into json.Unmarshaler) error {
	raw, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	var m *wire.Mismatch
	switch err := into.UnmarshalJSON(raw); {
	case err == nil:
	case errors.As(err, &m):
		b.report(m, raw)
	default:
		b.report(&wire.Mismatch{Rule: "value_error", Message: err.Error()}, raw)
	}
	return nil
}

func (b *binder) integer(v reflect.Value) error {
	if b.dec.PeekKind() != '0' {
		return b.mismatch(wire.NotInteger.At())
	}
	raw, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil {
		v.SetInt(n)
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || math.Abs(f) >= 1<<63:
		b.report(wire.NotInteger.At(), raw)
	case f != math.Trunc(f):
		b.report(wire.NotWhole.At(), raw)
	default:
		v.SetInt(int64(f))
	}
	return nil
}

func (b *binder) float(v reflect.Value) error {
	if b.dec.PeekKind() != '0' {
		return b.mismatch(wire.NotNumber.At())
	}
	raw, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(string(raw), v.Type().Bits())
	if err != nil {
		b.report(&wire.Mismatch{Rule: "finite_number", Message: "Input should be a finite number"}, raw)
		return nil
	}
	v.SetFloat(f)
	return nil
}

func (b *binder) list(v reflect.Value) error {
	if b.dec.PeekKind() != '[' {
		return b.mismatch(wire.NotList.At())
	}
	if _, err := b.dec.ReadToken(); err != nil {
		return err
	}
	v.SetLen(0)
	for i := 0; b.dec.PeekKind() != ']'; i++ {
		if v.Len() == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		v.Index(i).SetZero()
		b.path = append(b.path, i)
		if err := b.value(v.Index(i), false); err != nil {
			return err
		}
		b.path = b.path[:len(b.path)-1]
	}
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	_, err := b.dec.ReadToken()
	return err
}

func (b *binder) object(v reflect.Value) error {
	if b.dec.PeekKind() != '{' {
		return b.mismatch(&wire.Mismatch{
			Rule:    "model_attributes_type",
			Message: "Input should be a valid dictionary or object to extract fields from",
		})
	}
	if _, err := b.dec.ReadToken(); err != nil {
		return err
	}
	layout := layoutOf(v.Type())
	seen := make([]bool, v.NumField())
	for b.dec.PeekKind() != '}' {
		name, err := b.dec.ReadToken()
		if err != nil {
			return err
		}
		b.path = append(b.path, name.String())
		if err := b.member(v, layout, seen); err != nil {
			return err
		}
		b.path = b.path[:len(b.path)-1]
	}
	if _, err := b.dec.ReadToken(); err != nil {
		return err
	}
	for _, name := range layout.order {
		if field := layout.fields[name]; field.required && !seen[field.index] {
			b.found = append(b.found, fault.Field("missing", nil, append(b.where(), name), "Field required"))
		}
	}
	return nil
}

// member decodes the member whose name ends b.path.
func (b *binder) member(v reflect.Value, layout *layout, seen []bool) error {
	field, known := layout.fields[b.path[len(b.path)-1].(string)]
	if !known {
		if layout.open {
			return b.dec.SkipValue()
		}
		return b.mismatch(&wire.Mismatch{Rule: "extra_forbidden", Message: "Extra inputs are not permitted"})
	}
	seen[field.index] = true
	if field.oneOf != nil {
		return b.literal(v.Field(field.index), field.oneOf)
	}
	return b.value(v.Field(field.index), field.nullable)
}

// literal decodes a text from a fixed set; anything else is the same error.
func (b *binder) literal(v reflect.Value, allowed []string) error {
	raw, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	var text string
	if raw.Kind() == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	if f := fault.OneOf(text, allowed, b.where()...); f != nil {
		f.Input = shown(raw)
		b.found = append(b.found, f)
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	v.SetString(text)
	return nil
}

// layout is what the tags of a struct type say.
type layout struct {
	fields map[string]bound
	order  []string
	open   bool
}

type bound struct {
	index              int
	required, nullable bool
	oneOf              []string // nil for any value
}

var layouts sync.Map // reflect.Type → *layout

func layoutOf(t reflect.Type) *layout {
	if known, ok := layouts.Load(t); ok {
		return known.(*layout)
	}
	l := &layout{fields: map[string]bound{}}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("bind")
		l.open = l.open || tag == "open"
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		l.order = append(l.order, name)
		l.fields[name] = bound{i, strings.Contains(tag, "required"), strings.Contains(tag, "nullable"), allowed(f.Tag)}
	}
	layouts.Store(t, l)
	return l
}

// allowed reads the tag `oneof:"float base64"`.
func allowed(tag reflect.StructTag) []string {
	if set, ok := tag.Lookup("oneof"); ok {
		return strings.Fields(set)
	}
	return nil
}
