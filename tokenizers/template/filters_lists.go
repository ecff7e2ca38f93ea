package template

import (
	"slices"
	"strings"
)

func end(c *Call, v any, at int) any {
	items := list(c.Line, v)
	if len(items) == 0 {
		return Undefined{"No first item, sequence was empty."}
	}
	return element(items, at)
}

// path follows a dotted attribute as map, sort and selectattr take it.
func path(line int, v, attribute any) any {
	if n, ok := attribute.(int); ok {
		return item(line, v, n)
	}
	for step := range strings.SplitSeq(str(attribute), ".") {
		v = item(line, v, step)
	}
	return v
}

func filterMap(c *Call, v any) any {
	items := list(c.Line, v)
	out := make([]any, len(items))
	if by, ok := c.Named["attribute"]; ok {
		for i, item := range items {
			out[i] = path(c.Line, item, by)
			if _, undefined := out[i].(Undefined); undefined && c.Named["default"] != nil {
				out[i] = c.Named["default"]
			}
		}
		return out
	}
	apply, known := filters[str(c.argument(0, "", ""))]
	if !known {
		fail(c.Line, "No filter named '%s'.", str(c.argument(0, "", "")))
	}
	rest := *c
	rest.Args = c.Args[1:]
	for i, item := range items {
		out[i] = apply(&rest, item)
	}
	return out
}

// selected keeps the items, or the items with an attribute, that pass a test; without a test those that are true.
func selected(c *Call, v any, byAttribute, keep bool) any {
	args := c.Args
	value := func(item any) any { return item }
	if byAttribute {
		if len(args) == 0 {
			fail(c.Line, "Missing parameter for attribute name")
		}
		by := args[0]
		args = args[1:]
		value = func(item any) any { return path(c.Line, item, by) }
	}
	passes := func(_ *Call, v any) bool { return truth(v) }
	rest := *c
	if len(args) > 0 {
		known := false
		if passes, known = tests[str(args[0])]; !known {
			fail(c.Line, "No test named '%s'.", str(args[0]))
		}
		rest.Args = args[1:]
	}
	out := []any{}
	for _, item := range list(c.Line, v) {
		if passes(&rest, value(item)) == keep {
			out = append(out, item)
		}
	}
	return out
}

func filterJoin(c *Call, v any) any {
	texts := []string{}
	for _, item := range list(c.Line, v) {
		if by := c.argument(1, "attribute", nil); by != nil {
			item = path(c.Line, item, by)
		}
		texts = append(texts, str(item))
	}
	return strings.Join(texts, str(c.argument(0, "d", "")))
}

func filterReverse(c *Call, v any) any {
	items := slices.Clone(list(c.Line, v))
	slices.Reverse(items)
	if _, ok := v.(string); ok {
		text := ""
		for _, r := range items {
			text += str(r)
		}
		return text
	}
	return items
}

func filterItems(c *Call, v any) any {
	switch d := v.(type) {
	case *Dict:
		return d.items()
	case Undefined:
		return []any{}
	}
	fail(c.Line, "Can only get item pairs from a mapping.")
	return nil
}
