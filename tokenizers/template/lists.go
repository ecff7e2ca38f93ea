package template

import (
	"slices"
	"strconv"
	"strings"
)

// itemAtEnd returns the first item of a value (n 0) or its last (n -1).
func itemAtEnd(c *call, v any, n int) any {
	switch v := v.(type) {
	case string, []any, tuple:
		if truth(v) {
			return element(c.evaluation, v, n)
		}
	default:
		if items := elements(c.evaluation, v); len(items) > 0 {
			return element(c.evaluation, items, n)
		}
	}
	return undefined{"No first item, sequence was empty."}
}

// attributePath returns an attribute of v by its dotted name, or an item by its index.
func attributePath(e evaluation, v, attribute any) any {
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

func filterMap(c *call, v any) any {
	items := elements(c.evaluation, v)
	out := make([]any, len(items))
	if by, ok := c.named["attribute"]; ok {
		for i, item := range items {
			out[i] = attributePath(c.evaluation, item, by)
			if isA[undefined](c, out[i]) && c.named["default"] != nil {
				out[i] = c.named["default"]
			}
		}
		return out
	}
	name := str(c.evaluation, c.argument(0, "", ""))
	apply, known := filters[name]
	if !known {
		c.fail("No filter named '%s'.", name)
	}
	inner := *c // the call of the filter, without its name
	inner.args = c.args[1:]
	for i, item := range items {
		out[i] = apply(&inner, item)
	}
	return out
}

// selectItems returns the items that pass a test, or fail it if keep is false. byAttribute tests an attribute of each
// item. Without a test, true values pass.
func selectItems(c *call, v any, byAttribute, keep bool) any {
	args := c.args
	value := func(item any) any { return item }
	if byAttribute {
		if len(args) == 0 {
			c.fail("Missing parameter for attribute name")
		}
		by := args[0]
		args = args[1:]
		value = func(item any) any { return attributePath(c.evaluation, item, by) }
	}
	passes := func(_ *call, v any) bool { return truth(v) }
	inner := *c // the call of the test, without its name
	if len(args) > 0 {
		name := str(c.evaluation, args[0])
		known := false
		if passes, known = tests[name]; !known {
			c.fail("No test named '%s'.", name)
		}
		inner.args = args[1:]
	}
	out := []any{}
	for _, item := range elements(c.evaluation, v) {
		if passes(&inner, value(item)) == keep {
			out = append(out, item)
		}
	}
	return out
}

func filterJoin(c *call, v any) any {
	texts := []string{}
	for _, item := range elements(c.evaluation, v) {
		if by := c.argument(1, "attribute", nil); by != nil {
			item = attributePath(c.evaluation, item, by)
		}
		texts = append(texts, str(c.evaluation, item))
	}
	return join(c.evaluation, texts, str(c.evaluation, c.argument(0, "d", "")))
}

// join is strings.Join, charged for.
func join(e evaluation, texts []string, separator string) string {
	size := len(separator) * max(0, len(texts)-1)
	for _, text := range texts {
		size += len(text)
	}
	e.chargeText(size)
	return strings.Join(texts, separator)
}

func filterReverse(c *call, v any) any {
	if text, ok := v.(string); ok {
		return sliceValue(c.evaluation, text, nil, nil, -1)
	}
	items := slices.Clone(elements(c.evaluation, v))
	slices.Reverse(items)
	return items
}

func filterItems(c *call, v any) any {
	switch d := v.(type) {
	case *Dict:
		return d.items(c.evaluation)
	case undefined:
		return []any{}
	}
	c.fail("Can only get item pairs from a mapping.")
	return nil
}

func filterSum(c *call, v any) any {
	total := c.argument(1, "start", 0)
	by := c.argument(0, "attribute", nil)
	var joined []any // the total of lists, which grows in place
	_, isList := total.([]any)
	if isList {
		joined = slices.Clone(elements(c.evaluation, total))
	}
	if isA[string](c, total) {
		c.fail("sum() can't sum strings [use ''.join(seq) instead]")
	}
	for _, item := range elements(c.evaluation, v) {
		if by != nil {
			item = attributePath(c.evaluation, item, by)
		}
		if more, ok := item.([]any); ok && isList {
			joined = append(joined, elements(c.evaluation, more)...)
			continue
		}
		if isList {
			total = joined
		}
		total = arithmetic(c.evaluation, "+", total, item)
	}
	if isList {
		return joined
	}
	return total
}

func filterBatch(c *call, v any) any {
	size := c.integer(0, "linecount", 1)
	out := []any{}
	if size < 1 {
		c.fail("batch needs a positive size")
	}
	fill := c.argument(1, "fill_with", nil)
	for chunk := range slices.Chunk(elements(c.evaluation, v), size) {
		row := slices.Clone(chunk)
		if missing := size - len(row); fill != nil && missing > 0 {
			c.charge(missing)
			row = append(row, slices.Repeat([]any{fill}, missing)...)
		}
		out = append(out, row)
	}
	return out
}

func filterSlice(c *call, v any) any {
	items := elements(c.evaluation, v)
	columns := c.integer(0, "slices", 1)
	out := []any{}
	if columns < 1 || columns > maxRange {
		c.fail("slice needs a positive number of slices")
	}
	c.charge(columns)
	fill := c.argument(1, "fill_with", nil)
	at := 0
	for i := range columns {
		size := len(items) / columns
		longer := i < len(items)%columns
		if longer {
			size++
		}
		column := slices.Clone(items[at : at+size])
		at += size
		if fill != nil && !longer {
			column = append(column, fill)
		}
		out = append(out, column)
	}
	return out
}

// keyedItem is an item with the value by which it is compared.
type keyedItem struct{ key, item any }

// keyedBy pairs items with their attribute by, or with themselves if by is nil. Texts are compared in lower case unless
// caseSensitive is set.
func keyedBy(e evaluation, items []any, by any, caseSensitive bool) []keyedItem {
	e.charge(len(items))
	pairs := make([]keyedItem, len(items))
	for i, item := range items {
		key := item
		if by != nil {
			key = attributePath(e, item, by)
		}
		if s, ok := key.(string); ok && !caseSensitive {
			e.chargeText(len(s))
			key = strings.ToLower(s)
		}
		pairs[i] = keyedItem{key, item}
	}
	return pairs
}

// keyed is keyedBy with the arguments attribute and case_sensitive at the positions given.
func (c *call) keyed(v any, attribute, caseSensitive int) []keyedItem {
	by := c.argument(attribute, "attribute", nil)
	return keyedBy(c.evaluation, elements(c.evaluation, v), by, c.flag(caseSensitive, "case_sensitive"))
}

// sortPairs sorts by key. Equal keys keep their order, also in reverse.
func sortPairs(e evaluation, pairs []keyedItem, reverse bool) []keyedItem {
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
	for i, pair := range pairs {
		items[i] = pair.item
	}
	return items
}

func filterSort(c *call, v any) any {
	return itemsOf(sortPairs(c.evaluation, c.keyed(v, 2, 1), c.flag(0, "reverse")))
}

func filterDictSort(c *call, v any) any {
	d, ok := v.(*Dict)
	if !ok {
		c.fail("dictsort needs a dict, not %s", typeName(v))
	}
	by := 0
	if c.argument(1, "by", "key") == "value" {
		by = 1
	}
	pairs := keyedBy(c.evaluation, d.items(c.evaluation), by, c.flag(0, "case_sensitive"))
	return itemsOf(sortPairs(c.evaluation, pairs, c.flag(2, "reverse")))
}

func filterGroupBy(c *call, v any) any {
	by := c.argument(0, "attribute", nil)
	groups := []any{}
	var members []any
	var key any // of the members
	flush := func() {
		if len(members) > 0 {
			groups = append(groups, tuple{attributePath(c.evaluation, members[0], by), members})
		}
		members = nil
	}
	for _, pair := range sortPairs(c.evaluation, c.keyed(v, 0, 2), false) {
		if len(members) > 0 && !equal(c.evaluation, key, pair.key) {
			flush()
		}
		key = pair.key
		members = append(members, pair.item)
	}
	flush()
	return groups
}

func filterUnique(c *call, v any) any {
	out := []any{}
	seen := map[any]bool{}
	for _, pair := range c.keyed(v, 1, 0) {
		hashed := hashKey(c.evaluation, pair.key)
		if !seen[hashed] {
			seen[hashed] = true
			out = append(out, pair.item)
		}
	}
	return out
}

// extreme returns the largest item (sign 1) or the smallest (sign -1).
func extreme(c *call, v any, sign int) any {
	pairs := c.keyed(v, 1, 0)
	if len(pairs) == 0 {
		return undefined{"No aggregated item, sequence was empty."}
	}
	best := pairs[0]
	for _, pair := range pairs[1:] {
		if sign*order(c.evaluation, "<", pair.key, best.key) > 0 {
			best = pair
		}
	}
	return best.item
}
