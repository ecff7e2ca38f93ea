package bind

import (
	"bytes"
	"math"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// list decodes an array into the slice v. Items beyond the bound are counted and skipped.
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
	b.checkLength(count, bound)
	_, err := b.dec.ReadToken()
	return err
}

// item decodes the item at index i into v, or skips it if i is beyond the bound.
func (b *binder) item(v reflect.Value, i, bound int) error {
	if v.Type().Elem().Kind() == reflect.Struct {
		b.objects--
		if b.objects == -1 {
			b.problems.Add(fault.Field("too_long", nil, b.currentPath(),
				"The lists of a body should have at most %d objects together", maxObjects))
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

// bound returns the bound of the list under the decoder. Only lists that are members of the body itself have one.
func (b *binder) bound() int {
	if len(b.path) == 1 {
		for _, bound := range b.bounds {
			if bound.Member == b.path[0] {
				return bound.Max
			}
		}
	}
	return math.MaxInt
}

// checkLength reports a list that is longer than its bound.
func (b *binder) checkLength(count, bound int) {
	if count > bound {
		b.problems.Add(fault.Items(count, 0, bound, b.currentPath()...))
	}
}

// checkRawLength reports raw if it is a list longer than its bound, and returns whether it is. It counts the items
// only if raw has enough bytes for that many.
func (b *binder) checkRawLength(raw jsontext.Value) (tooLong bool, err error) {
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
	b.checkLength(count, bound)
	return count > bound, nil
}
