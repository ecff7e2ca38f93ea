package template

import (
	"slices"
	"strconv"
	"strings"
)

func end(c *Call, v any, at int) any {
	switch v := v.(type) {
	case string, []any, Tuple:
		if truth(v) {
			return element(c.eval, v, at)
		}
	default:
		if items := list(c.eval, v); len(items) > 0 {
			return element(c.eval, items, at)
		}
	}
	return Undefined{"No first item, sequence was empty."}
}

// path evaluates a dotted attribute, as in map, sort and selectattr.
func path(e eval, v, attribute any) any {
	if n, ok := attribute.(int); ok {
		return item(e, v, n)
	}
	names := str(e, attribute)
	e.charge(1 + strings.Count(names, "."))
	e.chargeText(len(names))
	for name := range strings.SplitSeq(names, ".") {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			v = item(e, v, n)
		} else {
			v = item(e, v, name)
		}
	}
	return v
}

func filterMap(c *Call, v any) any {
	items := list(c.eval, v)
	out := make([]any, len(items))
	if by, ok := c.Named["attribute"]; ok {
		for i, item := range items {
			out[i] = path(c.eval, item, by)
			if _, undefined := out[i].(Undefined); undefined && c.Named["default"] != nil {
				out[i] = c.Named["default"]
			}
		}
		return out
	}
	apply, known := filters[str(c.eval, c.argument(0, "", ""))]
	if !known {
		c.fail("No filter named '%s'.", str(c.eval, c.argument(0, "", "")))
	}
	rest := *c
	rest.Args = c.Args[1:]
	for i, item := range items {
		out[i] = apply(&rest, item)
	}
	return out
}

// selectItems keeps the items, or the items with an attribute, that pass a test; without a test those that are true.
func selectItems(c *Call, v any, byAttribute, keep bool) any {
	args := c.Args
	value := func(item any) any { return item }
	if byAttribute {
		if len(args) == 0 {
			c.fail("Missing parameter for attribute name")
		}
		by := args[0]
		args = args[1:]
		value = func(item any) any { return path(c.eval, item, by) }
	}
	passes := func(_ *Call, v any) bool { return truth(v) }
	rest := *c
	if len(args) > 0 {
		known := false
		if passes, known = tests[str(c.eval, args[0])]; !known {
			c.fail("No test named '%s'.", str(c.eval, args[0]))
		}
		rest.Args = args[1:]
	}
	out := []any{}
	for _, item := range list(c.eval, v) {
		if passes(&rest, value(item)) == keep {
			out = append(out, item)
		}
	}
	return out
}

func filterJoin(c *Call, v any) any {
	texts := []string{}
	for _, item := range list(c.eval, v) {
		if by := c.argument(1, "attribute", nil); by != nil {
			item = path(c.eval, item, by)
		}
		texts = append(texts, str(c.eval, item))
	}
	return join(c.eval, texts, str(c.eval, c.argument(0, "d", "")))
}

func join(e eval, texts []string, separator string) string {
	size := len(separator) * max(0, len(texts)-1)
	for _, text := range texts {
		size += len(text)
	}
	e.chargeText(size)
	return strings.Join(texts, separator)
}

func filterReverse(c *Call, v any) any {
	if text, ok := v.(string); ok {
		return sliceValue(c.eval, text, nil, nil, -1)
	}
	items := slices.Clone(list(c.eval, v))
	slices.Reverse(items)
	return items
}

func filterItems(c *Call, v any) any {
	switch d := v.(type) {
	case *Dict:
		return d.items(c.eval)
	case Undefined:
		return []any{}
	}
	c.fail("Can only get item pairs from a mapping.")
	return nil
}
