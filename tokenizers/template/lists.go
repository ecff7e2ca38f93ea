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

func filterSum(c *Call, v any) any {
	total := c.argument(1, "start", 0)
	by := c.argument(0, "attribute", nil)
	var lists []any // the total, if it is a list: it grows in place
	_, isList := total.([]any)
	if isList {
		lists = slices.Clone(list(c.eval, total))
	}
	if _, isText := total.(string); isText {
		c.fail("sum() can't sum strings [use ''.join(seq) instead]")
	}
	for _, item := range list(c.eval, v) {
		if by != nil {
			item = path(c.eval, item, by)
		}
		if more, ok := item.([]any); ok && isList {
			lists = append(lists, list(c.eval, more)...)
			continue
		}
		if isList {
			total = lists
		}
		total = arithmetic(c.eval, "+", total, item)
	}
	if isList {
		return lists
	}
	return total
}

func filterBatch(c *Call, v any) any {
	size := c.whole(0, "linecount", 1)
	out := []any{}
	if size < 1 {
		c.fail("batch needs a positive size")
	}
	with := c.argument(1, "fill_with", nil)
	for chunk := range slices.Chunk(list(c.eval, v), size) {
		row := slices.Clone(chunk)
		if missing := size - len(row); with != nil && missing > 0 {
			c.charge(missing)
			row = append(row, slices.Repeat([]any{with}, missing)...)
		}
		out = append(out, row)
	}
	return out
}

func filterSlice(c *Call, v any) any {
	items := list(c.eval, v)
	columns := c.whole(0, "slices", 1)
	out := []any{}
	if columns < 1 || columns > mostRange {
		c.fail("slice needs a positive number of slices")
	}
	c.charge(columns)
	with := c.argument(1, "fill_with", nil)
	at := 0
	for i := range columns {
		size := len(items) / columns
		longer := i < len(items)%columns
		if longer {
			size++
		}
		column := slices.Clone(items[at : at+size])
		at += size
		if with != nil && !longer {
			column = append(column, with)
		}
		out = append(out, column)
	}
	return out
}

// sortKey returns the value that sort, unique and groupby compare; strings in lower case unless caseSensitive.
func sortKey(e eval, v, by any, caseSensitive bool) any {
	if by != nil {
		v = path(e, v, by)
	}
	if s, ok := v.(string); ok && !caseSensitive {
		e.chargeText(len(s))
		return strings.ToLower(s)
	}
	return v
}

// keyedItem is an item with its sortKey.
type keyedItem struct{ key, item any }

func addKeys(e eval, items []any, by any, caseSensitive bool) []keyedItem {
	e.charge(len(items))
	pairs := make([]keyedItem, len(items))
	for i, item := range items {
		pairs[i] = keyedItem{sortKey(e, item, by, caseSensitive), item}
	}
	return pairs
}

func sortItems(e eval, items []any, by any, caseSensitive, reverse bool) []keyedItem {
	pairs := addKeys(e, items, by, caseSensitive)
	slices.SortStableFunc(pairs, func(a, b keyedItem) int {
		n := order(e, "<", a.key, b.key)
		if reverse {
			return -n
		}
		return n
	})
	return pairs
}

func itemsOf(pairs []keyedItem) []any {
	items := make([]any, len(pairs))
	for i, k := range pairs {
		items[i] = k.item
	}
	return items
}

func filterSort(c *Call, v any) any {
	caseSensitive := truth(c.argument(1, "case_sensitive", false))
	return itemsOf(sortItems(c.eval, list(c.eval, v), c.argument(2, "attribute", nil), caseSensitive, truth(c.argument(0, "reverse", false))))
}

func filterDictSort(c *Call, v any) any {
	d, ok := v.(*Dict)
	if !ok {
		c.fail("dictsort needs a dict, not %s", typeName(v))
	}
	by := 0
	if c.argument(1, "by", "key") == "value" {
		by = 1
	}
	caseSensitive := truth(c.argument(0, "case_sensitive", false))
	return itemsOf(sortItems(c.eval, d.items(c.eval), by, caseSensitive, truth(c.argument(2, "reverse", false))))
}

func filterGroupBy(c *Call, v any) any {
	by := c.argument(0, "attribute", nil)
	groups := []any{}
	var members []any
	var last any // the key of members
	flush := func() {
		if len(members) > 0 {
			groups = append(groups, Tuple{path(c.eval, members[0], by), members})
		}
		members = nil
	}
	for _, k := range sortItems(c.eval, list(c.eval, v), by, truth(c.argument(2, "case_sensitive", false)), false) {
		if len(members) > 0 && !equal(c.eval, last, k.key) {
			flush()
		}
		last = k.key
		members = append(members, k.item)
	}
	flush()
	return groups
}

func filterUnique(c *Call, v any) any {
	out := []any{}
	seen := map[any]bool{}
	caseSensitive := truth(c.argument(0, "case_sensitive", false))
	for _, k := range addKeys(c.eval, list(c.eval, v), c.argument(1, "attribute", nil), caseSensitive) {
		hashed := hashKey(c.eval, k.key)
		if !seen[hashed] {
			seen[hashed] = true
			out = append(out, k.item)
		}
	}
	return out
}

func extreme(c *Call, v any, sign int) any {
	pairs := addKeys(c.eval, list(c.eval, v), c.argument(1, "attribute", nil), truth(c.argument(0, "case_sensitive", false)))
	if len(pairs) == 0 {
		return Undefined{"No aggregated item, sequence was empty."}
	}
	best := pairs[0]
	for _, k := range pairs[1:] {
		if sign*order(c.eval, "<", k.key, best.key) > 0 {
			best = k
		}
	}
	return best.item
}
