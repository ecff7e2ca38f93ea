package gateway

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// object decodes an object into a struct.
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
		if field := layout.fields[name]; field.required && !seen[field.index] && !b.problems.Full() {
			b.problems.Add(fault.Field("missing", nil, append(b.where(), name), "Field required"))
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
	if b.dec.PeekKind() == 'n' && !field.required {
		return b.dec.SkipValue()
	}
	if field.oneOf != nil {
		return b.literal(v.Field(field.index), field.oneOf)
	}
	if field.sparse {
		b.sparse = len(b.path)
		defer func() { b.sparse = 0 }()
	}
	return b.value(v.Field(field.index))
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
		b.problems.Add(f)
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
	fields map[string]member
	order  []string
	open   bool
}

// member is a field of a struct as its tags describe it.
type member struct {
	index    int
	required bool
	sparse   bool     // its items may be null
	oneOf    []string // nil for any value
}

var layouts sync.Map // reflect.Type → *layout

func layoutOf(t reflect.Type) *layout {
	if known, ok := layouts.Load(t); ok {
		return known.(*layout)
	}
	l := &layout{fields: map[string]member{}}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("bind")
		l.open = l.open || tag == "open"
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		l.order = append(l.order, name)
		l.fields[name] = member{
			index:    i,
			required: strings.Contains(tag, "required"),
			sparse:   strings.Contains(tag, "sparse"),
			oneOf:    allowed(f.Tag),
		}
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
