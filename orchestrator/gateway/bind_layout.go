package gateway

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// layout is what the tags of a struct type say.
type layout struct {
	fields map[string]member
	order  []string
	open   bool // members without a field are read over
}

// member is a field of a struct as its tags describe it.
type member struct {
	index    int
	required bool
	nullable bool     // null is as good as any value where the member is required
	sparse   bool     // items may be null
	oneOf    []string // nil for any value
}

var layouts sync.Map // reflect.Type → *layout

// layoutOf panics where a tag is unknown or does not fit its field: see mustBind.
func layoutOf(t reflect.Type) *layout {
	if known, ok := layouts.Load(t); ok {
		return known.(*layout)
	}
	l := &layout{fields: map[string]member{}}
	for i := range t.NumField() {
		f := t.Field(i)
		m, open := readTags(t, f)
		l.open = l.open || open
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		m.index = i
		l.order = append(l.order, name)
		l.fields[name] = m
	}
	layouts.Store(t, l)
	return l
}

// readTags reads the tags bind and oneof of a field of t. open is true for a field that stands for all members without
// one.
func readTags(t reflect.Type, f reflect.StructField) (m member, open bool) {
	refuse := func(format string, args ...any) {
		panic(fmt.Sprintf("gateway: %v.%s: %s", t, f.Name, fmt.Sprintf(format, args...)))
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
		refuse(`bind:"nullable" needs "required": null is as if any other member were absent`)
	case m.sparse && kind != reflect.Slice:
		refuse(`bind:"sparse" needs a list, not %v`, f.Type)
	case m.oneOf != nil && (len(m.oneOf) == 0 || !isText(f.Type)):
		refuse("oneof needs texts and a field of texts, not %v", f.Type)
	}
	return m, open
}

func isText(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.String
}

// mustBind panics unless Bind can decode every part of t: a wrong tag or a field of a type that it has no rules for is
// an error of the program, to be found when an endpoint is made and not by its first request.
func mustBind(t reflect.Type) { checkType(t, t.String(), nil) }

// checkType checks t, which stands at a place; above are the types that contain it.
func checkType(t reflect.Type, place string, above []reflect.Type) {
	if slices.Contains(above, t) || reflect.PointerTo(t).Implements(unmarshaler) {
		return
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Struct:
		l := layoutOf(t)
		for _, name := range l.order {
			checkType(t.Field(l.fields[name].index).Type, place+"."+name, above)
		}
	case reflect.Pointer, reflect.Slice:
		checkType(t.Elem(), place, above)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("gateway: %s: the keys of an object are texts, not %v", place, t.Key()))
		}
		checkType(t.Elem(), place, above)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float32, reflect.Float64:
	case reflect.Interface:
		if t.NumMethod() > 0 {
			panic(fmt.Sprintf("gateway: %s: no JSON value is a %v", place, t))
		}
	default:
		panic(fmt.Sprintf("gateway: %s: a %v cannot be bound", place, t))
	}
}
