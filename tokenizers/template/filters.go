package template

import (
	"html"
	"strings"
	"unicode"
)

// filter is a function that follows a "|".
type filter func(c *call, v any) any

// filters are Jinja's, except those that make HTML or are random.
// https://jinja.palletsprojects.com/en/stable/templates/#list-of-builtin-filters
var filters map[string]filter

func init() { // not in the declaration: map calls filters by name
	filters = map[string]filter{
		"abs":        filterAbs,
		"capitalize": textFilter(capitalize),
		"center":     filterCenter,
		"default":    filterDefault,
		"d":          filterDefault,
		"e":          textFilter(html.EscapeString),
		"escape":     textFilter(html.EscapeString),
		"float":      filterFloat,
		"format":     func(c *call, v any) any { return formatValues(c.evaluation, str(c.evaluation, v), c.args) },
		"indent":     filterIndent,
		"int":        filterInt,
		"lower":      textFilter(lower),
		"replace":    filterReplace,
		"round":      filterRound,
		"safe":       func(_ *call, v any) any { return v },
		"string":     func(c *call, v any) any { return str(c.evaluation, v) },
		"title":      textFilter(titleWords),
		"tojson":     filterJSON,
		"trim":       filterTrim,
		"truncate":   filterTruncate,
		"upper":      textFilter(upper),
		"wordcount":  filterWordCount,

		"attr":       func(c *call, v any) any { return attribute(c.evaluation, v, c.text(0)) },
		"batch":      filterBatch,
		"count":      func(c *call, v any) any { return length(c.evaluation, v) },
		"dictsort":   filterDictSort,
		"first":      func(c *call, v any) any { return itemAtEnd(c, v, 0) },
		"groupby":    filterGroupBy,
		"items":      filterItems,
		"join":       filterJoin,
		"last":       func(c *call, v any) any { return itemAtEnd(c, v, -1) },
		"length":     func(c *call, v any) any { return length(c.evaluation, v) },
		"list":       func(c *call, v any) any { return append([]any{}, elements(c.evaluation, v)...) },
		"map":        filterMap,
		"max":        func(c *call, v any) any { return extreme(c, v, 1) },
		"min":        func(c *call, v any) any { return extreme(c, v, -1) },
		"reject":     func(c *call, v any) any { return selectItems(c, v, false, false) },
		"rejectattr": func(c *call, v any) any { return selectItems(c, v, true, false) },
		"reverse":    filterReverse,
		"select":     func(c *call, v any) any { return selectItems(c, v, false, true) },
		"selectattr": func(c *call, v any) any { return selectItems(c, v, true, true) },
		"slice":      filterSlice,
		"sort":       filterSort,
		"sum":        filterSum,
		"unique":     filterUnique,
	}
}

// readText returns str(v) and charges for reading all of it.
func (c *call) readText(v any) string {
	text := str(c.evaluation, v)
	c.chargeText(len(text))
	return text
}

// textFilter is a filter without arguments that reads the whole text.
func textFilter[R any](f func(string) R) filter {
	return func(c *call, v any) any { return f(c.readText(v)) }
}

// titleWords is Jinja's title filter: words start after space, hyphen or bracket.
func titleWords(s string) string {
	return titleCase(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("-({[<", r) })
}

func filterCenter(c *call, v any) any {
	s := str(c.evaluation, v)
	size := length(c.evaluation, s)
	room := max(0, c.integer(0, "width", 80)-size)
	left := room / 2
	if room%2 == 1 && (room+size)%2 == 1 {
		left++ // as CPython does
	}
	c.chargeText(len(s))
	return c.padding(" ", left) + s + c.padding(" ", room-left)
}

// padding returns n times the character fill.
func (c *call) padding(fill string, n int) string {
	n = max(0, n)
	c.chargeText(n)
	return strings.Repeat(fill, n)
}

func filterDefault(c *call, v any) any {
	if isA[undefined](c, v) || c.flag(1, "boolean") && !truth(v) {
		return c.argument(0, "default_value", "")
	}
	return v
}

func filterIndent(c *call, v any) any {
	indent, ok := c.argument(0, "width", 4).(string)
	if !ok {
		indent = c.padding(" ", c.integer(0, "width", 4))
	}
	first := c.flag(1, "first")
	blank := c.flag(2, "blank")
	var b strings.Builder
	for i, line := range splitLines(c.evaluation, c.readText(v)+"\n", false) {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && first || i > 0 && (line != "" || blank) {
			c.chargeText(len(indent))
			b.WriteString(indent)
		}
		b.WriteString(line.(string))
	}
	return b.String()
}

func filterReplace(c *call, v any) any {
	limit := -1
	if c.argument(2, "count", nil) != nil {
		limit = c.integer(2, "count", -1)
	}
	old := str(c.evaluation, c.argument(0, "old", ""))
	return replace(c.evaluation, str(c.evaluation, v), old, str(c.evaluation, c.argument(1, "new", "")), limit)
}

// replace replaces at most limit occurrences of old, or all if limit is negative.
func replace(e evaluation, s, old, new string, limit int) string {
	e.chargeSearch(s, old)
	n := strings.Count(s, old)
	if limit >= 0 {
		n = min(n, limit)
	}
	e.chargeText(n * len(new))
	return strings.Replace(s, old, new, limit)
}

func filterTruncate(c *call, v any) any {
	s := str(c.evaluation, v)
	size := length(c.evaluation, s)
	limit := c.integer(0, "length", 255)
	ending := str(c.evaluation, c.argument(2, "end", "..."))
	if size <= limit+c.integer(3, "leeway", 5) {
		return s
	}
	keep := min(size, max(0, limit-length(c.evaluation, ending)))
	cut := s[:byteOffset(s, keep, size)]
	if !c.flag(1, "killwords") {
		if space := strings.LastIndexByte(cut, ' '); space >= 0 {
			cut = cut[:space]
		}
	}
	return concatText(c.evaluation, cut, ending)
}

// filterWordCount counts words: runs of letters, digits and underscores.
func filterWordCount(c *call, v any) any {
	words := 0
	for range strings.FieldsFuncSeq(c.readText(v), func(r rune) bool { return r != '_' && !isAlnum(r) }) {
		words++
	}
	return words
}

func filterTrim(c *call, v any) any {
	return c.trim(str(c.evaluation, v), strings.TrimFunc)
}
