package gateway

import (
	"bytes"
	"math"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// list decodes an array. Items beyond the bound are counted and not kept.
func (b *binder) list(v reflect.Value) error {
	if b.dec.PeekKind() != '[' {
		return b.mismatch(wire.NotList.At())
	}
	if _, err := b.dec.ReadToken(); err != nil {
		return err
	}
	v.SetLen(0)
	bound := b.bound()
	count := 0
	for ; b.dec.PeekKind() != ']'; count++ {
		if err := b.item(v, count, bound); err != nil {
			return err
		}
	}
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	b.problems.Add(b.longer(count, bound))
	_, err := b.dec.ReadToken()
	return err
}

// item decodes the item at an index, or skips one that is beyond a bound.
func (b *binder) item(v reflect.Value, i, bound int) error {
	if v.Type().Elem().Kind() == reflect.Struct {
		b.objects--
		if b.objects == -1 {
			b.problems.Add(fault.Field("too_long", nil, b.where(), "The lists of a body should have at most %d objects together", maxObjects))
		}
	}
	if i >= bound || b.objects < 0 || b.problems.Full() {
		return b.dec.SkipValue()
	}
	if v.Len() == v.Cap() {
		v.Grow(1)
	}
	v.SetLen(i + 1)
	v.Index(i).SetZero()
	if b.sparse == len(b.path) && b.dec.PeekKind() == 'n' {
		return b.dec.SkipValue()
	}
	b.path = append(b.path, i)
	err := b.value(v.Index(i))
	b.path = b.path[:len(b.path)-1]
	return err
}

// bound is that of the list under the decoder: lists below the members of the body have none.
func (b *binder) bound() int {
	if len(b.path) == 1 {
		for _, bound := range b.bounds {
			if bound.Member == b.path[0] {
				return bound.Most
			}
		}
	}
	return math.MaxInt
}

func (b *binder) longer(count, bound int) *fault.Error {
	if count <= bound {
		return nil
	}
	return fault.Items(count, 0, bound, b.where()...)
}

// tooLong reports, and records, that raw is a list beyond its bound. The items are counted only where there are enough
// bytes for more.
func (b *binder) tooLong(raw jsontext.Value) (bool, error) {
	bound := b.bound()
	if raw.Kind() != '[' || len(raw)/2 <= bound {
		return false, nil
	}
	items := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if _, err := items.ReadToken(); err != nil {
		return false, err
	}
	count := 0
	for ; items.PeekKind() != ']'; count++ {
		if err := items.SkipValue(); err != nil {
			return false, err
		}
	}
	b.problems.Add(b.longer(count, bound))
	return count > bound, nil
}
