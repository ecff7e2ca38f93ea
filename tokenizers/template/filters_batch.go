package template

import (
	"slices"
)

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
