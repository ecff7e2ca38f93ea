package bind

import (
	"encoding/json"
	"reflect"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// object decodes an object into the struct v.
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
	seen := make([]bool, len(layout.order))
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
	for i, name := range layout.order {
		if layout.fields[name].required && !seen[i] && !b.problems.Full() {
			b.problems.Add(fault.Field("missing", nil, append(b.currentPath(), name), "Field required"))
		}
	}
	return nil
}

// member decodes the member whose name is the last step of b.path.
func (b *binder) member(v reflect.Value, layout *layout, seen []bool) error {
	field, known := layout.fields[b.path[len(b.path)-1].(string)]
	if !known {
		if layout.open {
			return b.dec.SkipValue()
		}
		return b.mismatch(&wire.Mismatch{Rule: "extra_forbidden", Message: "Extra inputs are not permitted"})
	}
	seen[field.position] = true
	if b.dec.PeekKind() == 'n' && (field.nullable || !field.required) {
		return b.dec.SkipValue()
	}
	if field.oneOf != nil {
		return b.literal(v.FieldByIndex(field.index), field.oneOf)
	}
	if field.sparse {
		b.sparse = len(b.path)
		defer func() { b.sparse = 0 }()
	}
	return b.value(v.FieldByIndex(field.index))
}

// literal decodes a string that must be one of the allowed values. A value of another type breaks the same rule.
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
	if f := fault.OneOf(text, allowed, b.currentPath()...); f != nil {
		f.Input = clipped(raw)
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

// mapping decodes an object into the map v. A null value becomes the zero value, as with encoding/json.
func (b *binder) mapping(v reflect.Value) error {
	if b.dec.PeekKind() != '{' {
		return b.mismatch(wire.NotObject.At())
	}
	if _, err := b.dec.ReadToken(); err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	for b.dec.PeekKind() != '}' {
		name, err := b.dec.ReadToken()
		if err != nil {
			return err
		}
		b.path = append(b.path, name.String())
		if err := b.entry(v); err != nil {
			return err
		}
		b.path = b.path[:len(b.path)-1]
	}
	_, err := b.dec.ReadToken()
	return err
}

// entry decodes a value into the map v under the last step of b.path. Once problems is full it skips the value.
func (b *binder) entry(v reflect.Value) error {
	if b.problems.Full() {
		return b.dec.SkipValue()
	}
	value := reflect.New(v.Type().Elem()).Elem()
	if b.dec.PeekKind() == 'n' {
		if err := b.dec.SkipValue(); err != nil {
			return err
		}
	} else if err := b.value(value); err != nil {
		return err
	}
	key := reflect.ValueOf(b.path[len(b.path)-1].(string)).Convert(v.Type().Key())
	v.SetMapIndex(key, value)
	return nil
}
