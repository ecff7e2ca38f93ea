package template

import (
	"slices"
)

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
	size := c.whole(0, "linecount", 1)
	out := []any{}
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
	items := list(c.Line, v)
	columns := c.whole(0, "slices", 1)
	out := []any{}
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
