package template

import (
	"strings"
	"unicode/utf8"
)

// sliceValue returns of[start:stop:step]; an omitted bound is nil.
func sliceValue(e eval, of, start, stop, step any) any {
	requireDefined(e, of, start, stop, step)
	text, isText := of.(string)
	items, isList := sequence(of)
	if !isText && !isList {
		return Undefined{"'" + typeName(of) + "' object is not subscriptable"}
	}
	for _, bound := range []any{start, stop, step} {
		if _, _, whole, _ := numeric(bound); bound != nil && !whole {
			return Undefined{"slice indices must be integers or None or have an __index__ method"}
		}
	}
	n := length(e, of)
	s := newSlice(e, n, start, stop, step)
	if isText {
		return s.text(e, text, n)
	}
	e.charge(s.count)
	picked := make([]any, s.count)
	for i := range picked {
		picked[i] = items[s.at(i)]
	}
	if _, ok := of.(Tuple); ok {
		return Tuple(picked)
	}
	return picked
}

// slice is a Python slice of a sequence: count indices from start, step apart.
type slice struct{ start, step, count int }

// newSlice returns the slice of a sequence of n elements. Bounds are integers, or nil if omitted.
func newSlice(e eval, n int, start, stop, step any) slice {
	s := slice{step: 1}
	if step != nil {
		s.step, _, _, _ = numeric(step)
		s.step = min(max(s.step, -n-1), n+1)
	}
	if s.step == 0 {
		e.fail("slice step cannot be zero")
	}
	// Bounds are clamped to low and high; omitted ones are first and last.
	low := 0
	high := n
	first := 0
	last := n
	if s.step < 0 {
		low = -1
		high = n - 1
		first = n - 1
		last = -1
	}
	bound := func(v any, otherwise int) int {
		if v == nil {
			return otherwise
		}
		at, _, _, _ := numeric(v)
		if at < 0 {
			at += n
		}
		return min(max(at, low), high)
	}
	s.start = bound(start, first)
	end := bound(stop, last)
	if s.step > 0 && end > s.start {
		s.count = (end-s.start-1)/s.step + 1
	}
	if s.step < 0 && end < s.start {
		s.count = (s.start-end-1)/-s.step + 1
	}
	return s
}

func (s slice) at(i int) int { return s.start + i*s.step }

// text returns the slice of a text of n characters.
func (s slice) text(e eval, text string, n int) string {
	if s.count == 0 {
		return ""
	}
	if s.step == 1 {
		start := byteOffset(text, s.start, n)
		return text[start : start+byteOffset(text[start:], s.count, n-s.start)]
	}
	e.charge(n / bytesPerStep * utf8.UTFMax)
	characters := []rune(text)
	var picked strings.Builder
	for i := range s.count {
		picked.WriteRune(characters[s.at(i)])
	}
	return picked.String()
}

// byteOffset returns the byte offset of the i-th character of a text of n characters.
func byteOffset(text string, i, n int) int {
	if len(text) == n { // ASCII
		return i
	}
	for at := range text {
		if i == 0 {
			return at
		}
		i--
	}
	return len(text)
}
