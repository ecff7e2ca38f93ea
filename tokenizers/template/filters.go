package template

import "html"

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
		"format":     func(c *Call, v any) any { return formatValues(c.eval, str(c.eval, v), c.Args) },
		"indent":     filterIndent,
		"int":        filterInt,
		"lower":      onText(lower),
		"replace":    filterReplace,
		"round":      filterRound,
		"safe":       func(_ *Call, v any) any { return v },
		"string":     func(c *Call, v any) any { return str(c.eval, v) },
		"title":      onText(titleWords),
		"tojson":     filterJSON,
		"trim":       filterTrim,
		"truncate":   filterTruncate,
		"upper":      onText(upper),
		"wordcount":  filterWordCount,

		"attr":       func(c *Call, v any) any { return attribute(c.eval, v, c.text(0)) },
		"batch":      filterBatch,
		"count":      func(c *Call, v any) any { return length(c.eval, v) },
		"dictsort":   filterDictSort,
		"first":      func(c *Call, v any) any { return end(c, v, 0) },
		"groupby":    filterGroupBy,
		"items":      filterItems,
		"join":       filterJoin,
		"last":       func(c *Call, v any) any { return end(c, v, -1) },
		"length":     func(c *Call, v any) any { return length(c.eval, v) },
		"list":       func(c *Call, v any) any { return append([]any{}, list(c.eval, v)...) },
		"map":        filterMap,
		"max":        func(c *Call, v any) any { return extreme(c, v, 1) },
		"min":        func(c *Call, v any) any { return extreme(c, v, -1) },
		"reject":     func(c *Call, v any) any { return selectItems(c, v, false, false) },
		"rejectattr": func(c *Call, v any) any { return selectItems(c, v, true, false) },
		"reverse":    filterReverse,
		"select":     func(c *Call, v any) any { return selectItems(c, v, false, true) },
		"selectattr": func(c *Call, v any) any { return selectItems(c, v, true, true) },
		"slice":      filterSlice,
		"sort":       filterSort,
		"sum":        filterSum,
		"unique":     filterUnique,
	}
}
