package template

import (
	"html"
	"strings"
	"unicode"
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

// readText returns str(v) and charges for reading all of it.
func (c *Call) readText(v any) string {
	text := str(c.eval, v)
	c.chargeText(len(text))
	return text
}

func onText(f func(string) string) filter {
	return func(c *Call, v any) any { return f(c.readText(v)) }
}

// titleWords is Jinja's title: words begin after space, hyphen or bracket.
func titleWords(s string) string {
	start := true
	return strings.Map(func(r rune) rune {
		was := start
		start = unicode.IsSpace(r) || strings.ContainsRune("-({[<", r)
		if was {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func filterCenter(c *Call, v any) any {
	s := str(c.eval, v)
	size := length(c.eval, s)
	room := max(0, c.whole(0, "width", 80)-size)
	left := room / 2
	if room%2 == 1 && (room+size)%2 == 1 {
		left++ // as CPython does
	}
	c.chargeText(len(s))
	return c.padding(" ", left) + s + c.padding(" ", room-left)
}

// padding repeats a character n times.
func (c *Call) padding(with string, n int) string {
	n = max(0, n)
	c.chargeText(n)
	return strings.Repeat(with, n)
}

func filterDefault(c *Call, v any) any {
	_, undefined := v.(Undefined)
	if undefined || truth(c.argument(1, "boolean", false)) && !truth(v) {
		return c.argument(0, "default_value", "")
	}
	return v
}

func filterIndent(c *Call, v any) any {
	by, ok := c.argument(0, "width", 4).(string)
	if !ok {
		by = c.padding(" ", c.whole(0, "width", 4))
	}
	first := truth(c.argument(1, "first", false))
	blank := truth(c.argument(2, "blank", false))
	var b strings.Builder
	for i, line := range lines(c.eval, c.readText(v)+"\n", false) {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && first || i > 0 && (line != "" || blank) {
			c.chargeText(len(by))
			b.WriteString(by)
		}
		b.WriteString(line.(string))
	}
	return b.String()
}

func filterReplace(c *Call, v any) any {
	most := -1
	if c.argument(2, "count", nil) != nil {
		most = c.whole(2, "count", -1)
	}
	return replace(c.eval, str(c.eval, v), str(c.eval, c.argument(0, "old", "")), str(c.eval, c.argument(1, "new", "")), most)
}

func replace(e eval, s, old, new string, most int) string {
	e.chargeSearch(s, old)
	n := strings.Count(s, old)
	if most >= 0 {
		n = min(n, most)
	}
	e.chargeText(n * len(new))
	return strings.Replace(s, old, new, most)
}

func filterTruncate(c *Call, v any) any {
	s := str(c.eval, v)
	size := length(c.eval, s)
	most := c.whole(0, "length", 255)
	ending := str(c.eval, c.argument(2, "end", "..."))
	if size <= most+c.whole(3, "leeway", 5) {
		return s
	}
	cut := s[:byteOffset(s, min(size, max(0, most-length(c.eval, ending))), size)]
	if !truth(c.argument(1, "killwords", false)) {
		if space := strings.LastIndexByte(cut, ' '); space >= 0 {
			cut = cut[:space]
		}
	}
	return concatText(c.eval, cut, ending)
}

// filterWordCount counts words: runs of letters, digits and underscores.
func filterWordCount(c *Call, v any) any {
	words := 0
	within := false
	for _, r := range c.readText(v) {
		was := within
		within = r == '_' || isAlnum(r)
		if within && !was {
			words++
		}
	}
	return words
}

func filterTrim(c *Call, v any) any {
	return c.trim(str(c.eval, v), strings.TrimFunc)
}
