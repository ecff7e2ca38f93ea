package bind

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"retort/orchestrator/wire"
)

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value decodes the value under the decoder into v.
func (b *binder) value(v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		return b.pointer(v)
	}
	if v.Addr().Type().Implements(unmarshaler) {
		return b.custom(v.Addr().Interface().(json.Unmarshaler))
	}
	switch v.Kind() {
	case reflect.Struct:
		return b.object(v)
	case reflect.Slice:
		return b.list(v)
	case reflect.String:
		return b.text(v)
	case reflect.Bool:
		return b.boolean(v)
	case reflect.Int, reflect.Int64:
		return b.integer(v)
	case reflect.Float32, reflect.Float64:
		return b.float(v)
	case reflect.Map:
		return b.mapping(v)
	case reflect.Interface:
		return b.anything(v)
	default:
		panic(fmt.Sprintf("bind: a %v cannot be bound", v.Type())) // see MustSupport
	}
}

// anything decodes any JSON value into the interface v. Only a number beyond the range of a float64 does not fit.
func (b *binder) anything(v reflect.Value) error {
	raw, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	if json.Unmarshal(raw, v.Addr().Interface()) != nil {
		v.SetZero()
		b.report(notFinite.At(), raw)
	}
	return nil
}

// notFinite is the mismatch of a number beyond the range of its floating-point type.
var notFinite = wire.Mismatch{Rule: "finite_number", Message: "Input should be a finite number"}

// pointer decodes into a new value and lets v point to it if it fits.
func (b *binder) pointer(v reflect.Value) error {
	target := reflect.New(v.Type().Elem())
	before := b.problems.Len()
	err := b.value(target.Elem())
	if err == nil && b.problems.Len() == before {
		v.Set(target)
	}
	return err
}

// custom lets a type decode itself. A list longer than its bound is reported before that.
func (b *binder) custom(into json.Unmarshaler) error {
	raw, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	if tooLong, err := b.checkRawLength(raw); tooLong || err != nil {
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

func (b *binder) text(v reflect.Value) error {
	if b.dec.PeekKind() != '"' {
		return b.mismatch(wire.NotString.At())
	}
	token, err := b.dec.ReadToken()
	if err != nil {
		return err
	}
	v.SetString(token.String())
	return nil
}

func (b *binder) boolean(v reflect.Value) error {
	if kind := b.dec.PeekKind(); kind != 't' && kind != 'f' {
		return b.mismatch(wire.NotBoolean.At())
	}
	token, err := b.dec.ReadToken()
	if err != nil {
		return err
	}
	v.SetBool(token.Bool())
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
		b.report(notFinite.At(), raw)
		return nil
	}
	v.SetFloat(f)
	return nil
}
