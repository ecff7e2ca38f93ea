package jinja

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

// selected keeps the items, or the items with an attribute, that pass a test;
// without a test those that are true.
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

// sortKey is what sort, unique and groupby compare: text without its case.
func sortKey(c *Call, v, by any, caseSensitive bool) any {
	if by != nil {
		v = path(c.Line, v, by)
	}
	if s, ok := v.(string); ok && !caseSensitive {
		return strings.ToLower(s)
	}
	return v
}

func sorted(c *Call, items []any, by any, caseSensitive, reverse bool) []any {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b any) int {
		n := order(c.Line, "<", sortKey(c, a, by, caseSensitive), sortKey(c, b, by, caseSensitive))
		if reverse {
			return -n
		}
		return n
	})
	return items
}

func filterSort(c *Call, v any) any {
	return sorted(c, list(c.Line, v), c.argument(2, "attribute", nil), truth(c.argument(1, "case_sensitive", false)), truth(c.argument(0, "reverse", false)))
}

func filterDictSort(c *Call, v any) any {
	d, ok := v.(*Dict)
	if !ok {
		fail(c.Line, "dictsort needs a dict, not %s", typeName(v))
	}
	by := 0
	if c.argument(1, "by", "key") == "value" {
		by = 1
	}
	return sorted(c, d.items(), by, truth(c.argument(0, "case_sensitive", false)), truth(c.argument(2, "reverse", false)))
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

func filterGroupBy(c *Call, v any) any {
	by := c.argument(0, "attribute", nil)
	groups := []any{}
	for _, item := range sorted(c, list(c.Line, v), by, false, false) {
		key := path(c.Line, item, by)
		if n := len(groups); n > 0 && equal(groups[n-1].(Tuple)[0], key) {
			group := groups[n-1].(Tuple)
			group[1] = append(group[1].([]any), item)
			continue
		}
		groups = append(groups, Tuple{key, []any{item}})
	}
	return groups
}

func filterUnique(c *Call, v any) any {
	out, keys := []any{}, []any{}
	for _, item := range list(c.Line, v) {
		key := sortKey(c, item, c.argument(1, "attribute", nil), truth(c.argument(0, "case_sensitive", false)))
		if !slices.ContainsFunc(keys, func(k any) bool { return equal(k, key) }) {
			out, keys = append(out, item), append(keys, key)
		}
	}
	return out
}

func extreme(c *Call, v any, sign int) any {
	by, sensitive := c.argument(1, "attribute", nil), truth(c.argument(0, "case_sensitive", false))
	var best any = Undefined{"No aggregated item, sequence was empty."}
	for i, item := range list(c.Line, v) {
		if i == 0 || sign*order(c.Line, "<", sortKey(c, item, by, sensitive), sortKey(c, best, by, sensitive)) > 0 {
			best = item
		}
	}
	return best
}

func filterSum(c *Call, v any) any {
	total := c.argument(1, "start", 0)
	for _, item := range list(c.Line, v) {
		if by := c.argument(0, "attribute", nil); by != nil {
			item = path(c.Line, item, by)
		}
		total = arithmetic(c.Line, "+", total, item)
	}
	return total
}

func filterBatch(c *Call, v any) any {
	size, out := c.whole(0, "linecount", 1), []any{}
	if size < 1 {
		fail(c.Line, "batch needs a positive size")
	}
	for chunk := range slices.Chunk(list(c.Line, v), size) {
		row := slices.Clone(chunk)
		for with := c.argument(1, "fill_with", nil); with != nil && len(row) < size; {
			row = append(row, with)
		}
		out = append(out, row)
	}
	return out
}

func filterSlice(c *Call, v any) any {
	items, columns, out := list(c.Line, v), c.whole(0, "slices", 1), []any{}
	if columns < 1 || columns > mostRange {
		fail(c.Line, "slice needs a positive number of slices")
	}
	at := 0
	for i := range columns {
		size := len(items) / columns
		longer := i < len(items)%columns
		if longer {
			size++
		}
		column := slices.Clone(items[at : at+size])
		at += size
		if with := c.argument(1, "fill_with", nil); with != nil && !longer && len(items)%columns > 0 {
			column = append(column, with)
		}
		out = append(out, column)
	}
	return out
}
