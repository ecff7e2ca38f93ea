package bind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// layout holds the fields of a struct type, embedded structs included, by the name of their JSON member.
type layout struct {
	fields map[string]member
	order  []string // names in the order of the fields
	open   bool     // unknown members are skipped
}

// member is what the tags of a field say.
type member struct {
	index    []int // of the field, which may belong to an embedded struct
	position int   // in the order of the layout
	required bool
	nullable bool     // null is allowed though the member is required
	sparse   bool     // items may be null
	oneOf    []string // allowed values; nil for any
}

var layouts sync.Map // reflect.Type → *layout

// layoutOf returns the layout of t. It panics if a tag is unknown or does not fit its field: see MustSupport.
func layoutOf(t reflect.Type) *layout {
	if known, ok := layouts.Load(t); ok {
		return known.(*layout)
	}
	l := &layout{fields: map[string]member{}}
	for _, f := range reflect.VisibleFields(t) {
		m, open := readTags(t, f)
		l.open = l.open || open
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		m.index = f.Index
		m.position = len(l.order)
		l.order = append(l.order, name)
		l.fields[name] = m
	}
	layouts.Store(t, l)
	return l
}

// readTags reads the tags bind and oneof of the field f of t. open reports whether f opens the struct for unknown
// members.
func readTags(t reflect.Type, f reflect.StructField) (m member, open bool) {
	refuse := func(format string, args ...any) {
		panic(fmt.Sprintf("bind: %v.%s: %s", t, f.Name, fmt.Sprintf(format, args...)))
	}
	if tag, ok := f.Tag.Lookup("bind"); ok {
		for word := range strings.SplitSeq(tag, ",") {
			switch word {
			case "required":
				m.required = true
			case "nullable":
				m.nullable = true
			case "sparse":
				m.sparse = true
			case "open":
				open = true
			default:
				refuse("unknown word %q in tag bind", word)
			}
		}
	}
	if set, ok := f.Tag.Lookup("oneof"); ok {
		m.oneOf = strings.Fields(set)
	}
	kind := f.Type.Kind()
	switch {
	case open && f.Name != "_":
		refuse(`bind:"open" belongs to a field named _`)
	case m.nullable && !m.required:
		refuse(`bind:"nullable" needs "required": for any other member null counts as absent`)
	case m.sparse && kind != reflect.Slice:
		refuse(`bind:"sparse" needs a list, not %v`, f.Type)
	case m.oneOf != nil && (len(m.oneOf) == 0 || !isString(f.Type)):
		refuse("oneof needs values and a string field, not %v", f.Type)
	}
	return m, open
}

// isString reports whether t is a string or a pointer to one.
func isString(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.String
}

// MustSupport panics unless JSON can decode every part of t, so that a wrong tag or field type shows when an endpoint
// is built and not at its first request.
func MustSupport(t reflect.Type) { checkType(t, t.String(), nil) }

// checkType panics unless JSON can decode t, the type of the member at path. enclosing lists the types that contain
// it, so that a recursive type is checked once.
func checkType(t reflect.Type, path string, enclosing []reflect.Type) {
	if slices.Contains(enclosing, t) || reflect.PointerTo(t).Implements(unmarshaler) {
		return
	}
	enclosing = append(enclosing, t)
	switch t.Kind() {
	case reflect.Struct:
		l := layoutOf(t)
		for _, name := range l.order {
			checkType(t.FieldByIndex(l.fields[name].index).Type, path+"."+name, enclosing)
		}
	case reflect.Pointer, reflect.Slice:
		checkType(t.Elem(), path, enclosing)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("bind: %s: the keys of an object are strings, not %v", path, t.Key()))
		}
		checkType(t.Elem(), path, enclosing)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float32, reflect.Float64:
	case reflect.Interface:
		if t.NumMethod() > 0 {
			panic(fmt.Sprintf("bind: %s: no JSON value decodes into %v", path, t))
		}
	default:
		panic(fmt.Sprintf("bind: %s: a %v cannot be bound", path, t))
	}
}
