// Package bind decodes the JSON body of a request into a typed Go struct and names every problem that it finds, each
// with the path of the value at fault. Rules and wording are pydantic 2's, which the published services answer with.
// The package knows no HTTP.
//
// Struct tags:
//
//   - bind:"required": the member must be present and not null. Null counts as absent for all other members.
//   - bind:"required,nullable": the member must be present and may be null.
//   - bind:"sparse": items of the list may be null, which leaves the zero value.
//   - bind:"open", on a field named _: unknown members are skipped. Without it they are a problem.
//   - oneof:"a b": the string must be one of these values.
//
// The members of an embedded struct are members of the object, as with encoding/json.
//
// A type with UnmarshalJSON decodes itself and may return a *wire.Mismatch. Any other tag, or a field of a type that
// the package cannot decode, is a programming error: see MustSupport.
package bind

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// maxPath is the most steps in the path of a problem: a body may nest without end.
const maxPath = 16

// maxObjects is the most objects that the lists of one body may hold together. Each becomes a Go struct, which can
// take a hundred times the two bytes of its text.
const maxObjects = 1 << 16

// Bound is an upper bound on the length of a list: the member Member of the body.
type Bound struct {
	Member string
	Max    int
}

// AtMost returns the bound that the list member has at most max items.
func AtMost(member string, max int) Bound { return Bound{Member: member, Max: max} }

// JSON decodes one JSON object into the struct that into points to and returns all problems as one fault. A field
// keeps its value if its member is absent.
//
// Beyond encoding/json it refuses invalid UTF-8 and duplicate members. Items beyond a bound, and all values after
// fault.MaxProblems problems, are skipped and take no memory.
func JSON(body []byte, into any, bounds ...Bound) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return fault.Field("missing", nil, nil, "Field required: the body is empty, a JSON object is expected")
	}
	b := binder{dec: jsontext.NewDecoder(bytes.NewBuffer(body)), bounds: bounds, objects: maxObjects}
	if err := b.value(reflect.ValueOf(into).Elem()); err != nil {
		return b.malformed(err)
	}
	if _, err := b.dec.ReadToken(); err != io.EOF {
		if err == nil {
			return fault.Field("json_invalid", nil, nil, "JSON decode error: something follows the JSON object")
		}
		return b.malformed(err)
	}
	return b.problems.Err()
}

// binder walks a JSON text and a Go value in step. Its methods return an error only for malformed JSON; values that do
// not fit their field are collected in problems.
type binder struct {
	dec      *jsontext.Decoder
	path     []any
	problems fault.Problems
	bounds   []Bound
	objects  int // how many more objects the lists may hold
	sparse   int // length of the path to the list whose items may be null; 0 outside such a list
}

// malformed returns the fault for a text that is not JSON, with the place of the error.
func (b *binder) malformed(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return fault.Field("json_invalid", nil, b.currentPath(), "JSON decode error: %v", err)
	}
	var path []any
	for step := range syntax.JSONPointer.Tokens() {
		if len(path) == maxPath {
			break
		}
		if n, err := strconv.Atoi(step); err == nil {
			path = append(path, n)
		} else {
			path = append(path, fault.Clip(step))
		}
	}
	reason := "unexpected end of the text"
	if syntax.Err != nil && !errors.Is(syntax.Err, io.ErrUnexpectedEOF) {
		reason = fault.Clip(syntax.Err.Error())
	}
	return fault.Field("json_invalid", nil, path, "JSON decode error: %s (byte %d)", reason, syntax.ByteOffset)
}

// currentPath returns the path of the value under the decoder, with long names clipped.
func (b *binder) currentPath() []any {
	path := make([]any, 0, len(b.path)+1)
	for _, step := range b.path[:min(len(b.path), maxPath)] {
		if name, ok := step.(string); ok {
			step = fault.Clip(name)
		}
		path = append(path, step)
	}
	return path
}

// mismatch skips the value under the decoder and reports that it does not fit.
func (b *binder) mismatch(m *wire.Mismatch) error {
	if b.problems.Full() {
		return b.dec.SkipValue()
	}
	raw, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	b.report(m, raw)
	return nil
}

func (b *binder) report(m *wire.Mismatch, raw jsontext.Value) {
	if !b.problems.Full() {
		b.problems.Add(fault.Field(m.Rule, clipped(raw), append(b.currentPath(), m.Path...), "%s", m.Message))
	}
}

// clipped returns the offending value as an error may repeat it.
func clipped(raw jsontext.Value) any {
	if len(raw) > fault.MaxEcho {
		return fault.Clip(string(raw[:fault.MaxEcho+1]))
	}
	return json.RawMessage(bytes.Clone(raw))
}
