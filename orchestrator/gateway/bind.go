package gateway

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

// maxPath bounds the path of a problem in a text that is nested without end.
const maxPath = 16

// maxObjects bounds the objects in lists of one body: each becomes a Go struct, a hundred times the two bytes of its
// text.
const maxObjects = 1 << 16

// Bound is the most items that a list may have: of the body's member of that name.
type Bound struct {
	Member string
	Most   int
}

// AtMost returns a Bound.
func AtMost(member string, most int) Bound { return Bound{Member: member, Most: most} }

// Bind decodes one JSON object into the struct that into points to, and reports what does not fit, each with its path:
// members that are missing (tag `bind:"required"`), of the wrong type or unknown
// (unless the struct has a field tagged `bind:"open"`), and lists longer than their bound. A field keeps its
// value when its member is absent or, unless it is required, null; a member with the tag `bind:"required,nullable"` must
// be present and may be null. Items of a list with the tag `bind:"sparse"` may be null, and are then the zero value. A
// type with UnmarshalJSON decodes itself and may answer with a *wire.Mismatch. A string with the tag `oneof:"a b"` takes
// only those. Any other tag, or a field of a type without rules here, is a bug in the program: Bind panics, and so do
// JSON and JSONOrStream for such a request type.
//
// The rules and wording are pydantic 2's. Beyond encoding/json it refuses broken UTF-8 and members named twice. What is
// beyond a bound, or comes after fault.MaxProblems problems, is read over and takes no memory.
func Bind(body []byte, into any, bounds ...Bound) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return fault.Field("missing", nil, nil, "Field required: the body is empty, a JSON object is expected")
	}
	b := binder{dec: jsontext.NewDecoder(bytes.NewBuffer(body)), bounds: bounds, objects: maxObjects}
	if err := b.value(reflect.ValueOf(into).Elem()); err != nil {
		return b.broken(err)
	}
	if _, err := b.dec.ReadToken(); err != io.EOF {
		if err == nil {
			return fault.Field("json_invalid", nil, nil, "JSON decode error: something follows the JSON object")
		}
		return b.broken(err)
	}
	return b.problems.Err()
}

// binder walks a JSON text and a Go value side by side. Its methods return an error only for broken JSON; what does not
// fit is collected in problems.
type binder struct {
	dec      *jsontext.Decoder
	path     []any
	problems fault.Problems
	bounds   []Bound
	objects  int // how many more objects lists may hold
	sparse   int // length of the path of the list under the decoder whose items may be null; 0 for none
}

// broken tells where a text stops being JSON.
func (b *binder) broken(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return fault.Field("json_invalid", nil, b.where(), "JSON decode error: %v", err)
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

// where is the present path, with names as an error may repeat them.
func (b *binder) where() []any {
	path := make([]any, 0, len(b.path)+1)
	for _, step := range b.path[:min(len(b.path), maxPath)] {
		if name, ok := step.(string); ok {
			step = fault.Clip(name)
		}
		path = append(path, step)
	}
	return path
}

// mismatch records that the value under the decoder does not fit and skips it.
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
		b.problems.Add(fault.Field(m.Rule, shown(raw), append(b.where(), m.Path...), "%s", m.Message))
	}
}

// shown is the offending value as an error may repeat it: short.
func shown(raw jsontext.Value) any {
	if len(raw) > fault.MaxEcho {
		return fault.Clip(string(raw[:fault.MaxEcho+1]))
	}
	return json.RawMessage(bytes.Clone(raw))
}
