package template

import (
	"html"
	"strings"
)

// filter is what stands behind a |.
type filter func(c *Call, v any) any

// filters are Jinja's, those left out that make HTML or are random.
// https://jinja.palletsprojects.com/en/stable/templates/#list-of-builtin-filters
var filters map[string]filter

func init() { // some filters call others by name
	filters = map[string]filter{
		"abs":        filterAbs,
		"capitalize": onText(capitalized),
		"center":     filterCenter,
		"default":    filterDefault,
		"d":          filterDefault,
		"e":          onText(html.EscapeString),
		"escape":     onText(html.EscapeString),
		"float":      filterFloat,
		"format":     func(c *Call, v any) any { return formatted(c.Line, str(v), c.Args) },
		"indent":     filterIndent,
		"int":        filterInt,
		"lower":      onText(lower),
		"replace":    filterReplace,
		"round":      filterRound,
		"safe":       func(_ *Call, v any) any { return v },
		"string":     func(_ *Call, v any) any { return str(v) },
		"title":      onText(titleWords),
		"tojson":     filterJSON,
		"trim": func(c *Call, v any) any {
			return trimmed(str(v), c.argument(0, "chars", nil), strings.TrimFunc)
		},
		"truncate":  filterTruncate,
		"upper":     onText(upper),
		"wordcount": func(_ *Call, v any) any { return len(words.FindAllString(str(v), -1)) },

		"attr":       func(c *Call, v any) any { return attribute(c.Line, v, c.text(0)) },
		"batch":      filterBatch,
		"count":      func(c *Call, v any) any { return length(c.Line, v) },
		"dictsort":   filterDictSort,
		"first":      func(c *Call, v any) any { return end(c, v, 0) },
		"groupby":    filterGroupBy,
		"items":      filterItems,
		"join":       filterJoin,
		"last":       func(c *Call, v any) any { return end(c, v, -1) },
		"length":     func(c *Call, v any) any { return length(c.Line, v) },
		"list":       func(c *Call, v any) any { return append([]any{}, list(c.Line, v)...) },
		"map":        filterMap,
		"max":        func(c *Call, v any) any { return extreme(c, v, 1) },
		"min":        func(c *Call, v any) any { return extreme(c, v, -1) },
		"reject":     func(c *Call, v any) any { return selected(c, v, false, false) },
		"rejectattr": func(c *Call, v any) any { return selected(c, v, true, false) },
		"reverse":    filterReverse,
		"select":     func(c *Call, v any) any { return selected(c, v, false, true) },
		"selectattr": func(c *Call, v any) any { return selected(c, v, true, true) },
		"slice":      filterSlice,
		"sort":       filterSort,
		"sum":        filterSum,
		"unique":     filterUnique,
	}
}

func onText(f func(string) string) filter {
	return func(_ *Call, v any) any { return f(str(v)) }
}
