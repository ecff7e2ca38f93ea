package template

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// stringMethods are those of Python's str that templates use.
var stringMethods = map[string]func(*Call, string) any{
	"upper":      func(_ *Call, s string) any { return upper(s) },
	"lower":      func(_ *Call, s string) any { return lower(s) },
	"casefold":   func(_ *Call, s string) any { return cases.Fold().String(s) },
	"title":      func(_ *Call, s string) any { return title(s) },
	"capitalize": func(_ *Call, s string) any { return capitalized(s) },
	"strip": func(c *Call, s string) any {
		return trimmed(s, c.argument(0, "chars", nil), strings.TrimFunc)
	},
	"lstrip": func(c *Call, s string) any {
		return trimmed(s, c.argument(0, "chars", nil), strings.TrimLeftFunc)
	},
	"rstrip": func(c *Call, s string) any {
		return trimmed(s, c.argument(0, "chars", nil), strings.TrimRightFunc)
	},
	"split":        func(c *Call, s string) any { return split(c, s, false) },
	"rsplit":       func(c *Call, s string) any { return split(c, s, true) },
	"splitlines":   splitLines,
	"startswith":   func(c *Call, s string) any { return affixed(c, s, strings.HasPrefix) },
	"endswith":     func(c *Call, s string) any { return affixed(c, s, strings.HasSuffix) },
	"removeprefix": func(c *Call, s string) any { return strings.TrimPrefix(s, c.text(0)) },
	"removesuffix": func(c *Call, s string) any { return strings.TrimSuffix(s, c.text(0)) },
	"replace": func(c *Call, s string) any {
		return strings.Replace(s, c.text(0), c.text(1), c.whole(2, "count", -1))
	},
	"find":      func(c *Call, s string) any { return runeIndex(s, strings.Index(s, c.text(0))) },
	"rfind":     func(c *Call, s string) any { return runeIndex(s, strings.LastIndex(s, c.text(0))) },
	"count":     func(c *Call, s string) any { return strings.Count(s, c.text(0)) },
	"partition": func(c *Call, s string) any { return partition(c, s, strings.Index(s, c.text(0)), Tuple{s, "", ""}) },
	"rpartition": func(c *Call, s string) any {
		return partition(c, s, strings.LastIndex(s, c.text(0)), Tuple{"", "", s})
	},
	"join": func(c *Call, s string) any {
		texts := []string{}
		for i, item := range list(c.Line, c.argument(0, "iterable", nil)) {
			text, ok := item.(string)
			if !ok {
				fail(c.Line, "sequence item %d: expected str instance, %s found", i, typeName(item))
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, s)
	},
	"isdigit":   func(_ *Call, s string) any { return every(s, unicode.IsDigit) },
	"isnumeric": func(_ *Call, s string) any { return every(s, unicode.IsNumber) },
	"isalpha":   func(_ *Call, s string) any { return every(s, unicode.IsLetter) },
	"isalnum":   func(_ *Call, s string) any { return every(s, isAlnum) },
	"isspace":   func(_ *Call, s string) any { return every(s, unicode.IsSpace) },
	"isupper":   func(_ *Call, s string) any { return s != strings.ToLower(s) && s == strings.ToUpper(s) },
	"islower":   func(_ *Call, s string) any { return s != strings.ToUpper(s) && s == strings.ToLower(s) },
	"ljust":     func(c *Call, s string) any { return s + c.fill(s) },
	"rjust":     func(c *Call, s string) any { return c.fill(s) + s },
	"zfill":     func(c *Call, s string) any { return zeros(s, c.whole(0, "width", 0)) },
	"format":    func(c *Call, s string) any { return braces(c, s) },
}

// text is a string argument that must be there.
func (c *Call) text(i int) string {
	s, ok := c.argument(i, "", nil).(string)
	if !ok {
		fail(c.Line, "argument %d must be str, not %s", i+1, typeName(c.argument(i, "", nil)))
	}
	return s
}

// whole is an integer argument.
func (c *Call) whole(i int, name string, otherwise int) int {
	v := c.argument(i, name, otherwise)
	n, _, whole, ok := numeric(v)
	if !ok || !whole {
		fail(c.Line, "'%s' object cannot be interpreted as an integer", typeName(v))
	}
	return n
}

func (c *Call) fill(s string) string {
	with, ok := c.argument(1, "fillchar", " ").(string)
	if !ok || utf8.RuneCountInString(with) != 1 {
		fail(c.Line, "The fill character must be exactly one character long")
	}
	return strings.Repeat(with, min(max(0, c.whole(0, "width", 0)-utf8.RuneCountInString(s)), 1<<20))
}

func zeros(s string, width int) string {
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	return sign + strings.Repeat("0", min(max(0, width-len(sign)-utf8.RuneCountInString(s)), 1<<20)) + s
}

func trimmed(s string, chars any, trim func(string, func(rune) bool) string) string {
	set, ok := chars.(string)
	if !ok {
		return trim(s, unicode.IsSpace)
	}
	return trim(s, func(r rune) bool { return strings.ContainsRune(set, r) })
}

func affixed(c *Call, s string, has func(string, string) bool) bool {
	affixes, many := c.argument(0, "", nil).(Tuple)
	if !many {
		return has(s, c.text(0))
	}
	for _, affix := range affixes {
		if has(s, str(affix)) {
			return true
		}
	}
	return false
}

func runeIndex(s string, at int) int {
	if at < 0 {
		return -1
	}
	return utf8.RuneCountInString(s[:at])
}
