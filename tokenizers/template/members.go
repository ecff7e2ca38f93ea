package template

import (
	"strings"
	"unicode/utf8"
)

// attribute returns of.name: an attribute or method, else the member with that key.
func attribute(e evaluation, of any, name string) any {
	switch v := of.(type) {
	case undefined:
		requireDefined(e, v)
	case *Dict:
		if method := dictMethod(v, name); method != nil {
			return method
		}
		if member, ok := v.get(e, name); ok {
			return member
		}
	case *namespace:
		if member, ok := v.names[name]; ok {
			return member
		}
	case *loopState:
		return v.attribute(name)
	case string:
		if method, ok := stringMethods[name]; ok {
			return function(func(c *call) any { return method(c, v) })
		}
	}
	if items, ok := sequence(of); ok {
		if method := sequenceMethod(items, name); method != nil {
			return method
		}
	}
	return missingAttribute(of, name)
}

// item returns of[key]: the member with that key, else the attribute of that name.
func item(e evaluation, of, key any) any {
	requireDefined(e, of)
	switch v := of.(type) {
	case *Dict:
		if member, ok := v.get(e, key); ok {
			return member
		}
	case []any, tuple, string:
		if n, ok := key.(int); ok {
			return element(e, v, n)
		}
	}
	if name, ok := key.(string); ok {
		if _, isDict := of.(*Dict); !isDict || dictMethod(of.(*Dict), name) != nil {
			return attribute(e, of, name)
		}
	}
	return missingAttribute(of, str(e, key))
}

// element returns the n-th element of a list or tuple, or character of a text, counted from the end if n is negative.
func element(e evaluation, of any, n int) any {
	items, _ := sequence(of)
	text, isText := of.(string)
	switch {
	case isText && n < 0:
		return characterFromEnd(e, text, n)
	case isText:
		return character(e, text, n)
	case n < 0:
		n += len(items)
	}
	if n < 0 || n >= len(items) {
		return outOfRange
	}
	return items[n]
}

var outOfRange = undefined{"list index out of range"}

func character(e evaluation, text string, n int) any {
	e.chargeText(min(n, len(text)))
	for _, r := range text {
		if n == 0 {
			return string(r)
		}
		n--
	}
	return outOfRange
}

func characterFromEnd(e evaluation, text string, n int) any {
	e.chargeText(min(-(n + 1), len(text)))
	for text != "" {
		r, size := utf8.DecodeLastRuneInString(text)
		if n++; n == 0 {
			return string(r)
		}
		text = text[:len(text)-size]
	}
	return outOfRange
}

// sequenceMethod returns a method of a list or tuple, or nil.
func sequenceMethod(items []any, name string) any {
	switch name {
	case "index":
		return function(func(c *call) any {
			for i, item := range elements(c.evaluation, items) {
				if equal(c.evaluation, item, c.argument(0, "value", nil)) {
					return i
				}
			}
			c.fail("%s is not in list", repr(c.evaluation, c.argument(0, "value", nil)))
			return nil
		})
	case "count":
		return function(func(c *call) any {
			n := 0
			for _, item := range elements(c.evaluation, items) {
				n += boolToInt(equal(c.evaluation, item, c.argument(0, "value", nil)))
			}
			return n
		})
	case "copy":
		return function(func(*call) any { return items })
	case "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse":
		return unsafeMethod("list", name)
	}
	return nil
}

// length returns len(v).
func length(e evaluation, v any) int {
	if items, ok := sequence(v); ok {
		return len(items)
	}
	switch v := v.(type) {
	case string:
		e.chargeText(len(v))
		return utf8.RuneCountInString(v)
	case *Dict:
		return len(v.keys)
	case undefined:
		return 0
	}
	e.fail("object of type '%s' has no len()", typeName(v))
	return 0
}

// sliceValue returns of[start:stop:step]; an omitted bound is nil.
func sliceValue(e evaluation, of, start, stop, step any) any {
	requireDefined(e, of, start, stop, step)
	text, isText := of.(string)
	items, isList := sequence(of)
	if !isText && !isList {
		return undefined{"'" + typeName(of) + "' object is not subscriptable"}
	}
	for _, bound := range []any{start, stop, step} {
		if _, _, isInt, _ := numeric(bound); bound != nil && !isInt {
			return undefined{"slice indices must be integers or None or have an __index__ method"}
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
	return sequenceLike(of, picked)
}

// slice is a Python slice of a sequence: count indices, the first of which is start, step apart.
type slice struct{ start, step, count int }

// newSlice returns the slice of a sequence of n elements. Bounds are integers, or nil if omitted.
func newSlice(e evaluation, n int, start, stop, step any) slice {
	s := slice{step: 1}
	if step != nil {
		s.step, _, _, _ = numeric(step)
		s.step = min(max(s.step, -n-1), n+1)
	}
	if s.step == 0 {
		e.fail("slice step cannot be zero")
	}
	// A bound is clamped to low and high. The defaults of start and stop are first and last.
	low, high := 0, n
	first, last := 0, n
	if s.step < 0 {
		low, high = -1, n-1
		first, last = n-1, -1
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
func (s slice) text(e evaluation, text string, n int) string {
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
