package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
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

// upper and lower map as Python does: one letter may become two.
func upper(s string) string { return cases.Upper(language.Und).String(s) }
func lower(s string) string { return cases.Lower(language.Und).String(s) }

func isAlnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

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

func every(s string, is func(rune) bool) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
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

func partition(c *Call, s string, at int, otherwise Tuple) any {
	if at < 0 {
		return otherwise
	}
	separator := c.text(0)
	return Tuple{s[:at], separator, s[at+len(separator):]}
}

func split(c *Call, s string, fromRight bool) any {
	separator, most := c.argument(0, "sep", nil), c.whole(1, "maxsplit", -1)
	cut := func() (string, string, bool) { return "", "", false }
	rest := s
	text, given := separator.(string)
	switch {
	case given && text == "":
		fail(c.Line, "empty separator")
	case given && fromRight:
		cut = func() (string, string, bool) {
			i := strings.LastIndex(rest, text)
			if i < 0 {
				return "", "", false
			}
			return rest[i+len(text):], rest[:i], true
		}
	case given:
		cut = func() (string, string, bool) { return strings.Cut(rest, text) }
	case fromRight:
		rest = strings.TrimRightFunc(rest, unicode.IsSpace)
		cut = func() (string, string, bool) {
			i := strings.LastIndexFunc(rest, unicode.IsSpace)
			if i < 0 {
				return "", "", false
			}
			_, size := utf8.DecodeRuneInString(rest[i:])
			return rest[i+size:], strings.TrimRightFunc(rest[:i], unicode.IsSpace), true
		}
	default:
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		cut = func() (string, string, bool) {
			i := strings.IndexFunc(rest, unicode.IsSpace)
			if i < 0 {
				return "", "", false
			}
			return rest[:i], strings.TrimLeftFunc(rest[i:], unicode.IsSpace), true
		}
	}
	pieces := []any{}
	for most != 0 {
		piece, left, found := cut()
		if !found {
			break
		}
		pieces, rest, most = append(pieces, piece), left, most-1
	}
	if given || rest != "" {
		pieces = append(pieces, rest)
	}
	if fromRight {
		for i, j := 0, len(pieces)-1; i < j; i, j = i+1, j-1 {
			pieces[i], pieces[j] = pieces[j], pieces[i]
		}
	}
	return pieces
}

func splitLines(c *Call, s string) any {
	lines := []any{}
	for s != "" {
		end := strings.IndexAny(s, "\n\r")
		if end < 0 {
			return append(lines, s)
		}
		past := end + 1
		if strings.HasPrefix(s[end:], "\r\n") {
			past++
		}
		line := s[:end]
		if truth(c.argument(0, "keepends", false)) {
			line = s[:past]
		}
		lines, s = append(lines, line), s[past:]
	}
	return lines
}

// title is str.title: a capital at every beginning of a run of letters.
func title(s string) string {
	within := false
	return strings.Map(func(r rune) rune {
		was := within
		within = unicode.IsLetter(r)
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, s)
}

func capitalized(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToTitle(first)) + lower(s[size:])
}

// formatted is the % operator, with the conversions s, r, d, i, f and x.
func formatted(line int, format string, values []any) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		end := i + 1
		for end < len(format) && strings.IndexByte("0123456789.+- #", format[end]) >= 0 {
			end++
		}
		if end == len(format) {
			fail(line, "incomplete format")
		}
		flags, verb := format[i:end], format[end]
		i = end
		if verb == '%' {
			b.WriteByte('%')
			continue
		}
		if len(values) == 0 {
			fail(line, "not enough arguments for format string")
		}
		b.WriteString(converted(line, flags, verb, values[0]))
		values = values[1:]
	}
	if len(values) > 0 {
		fail(line, "not all arguments converted during string formatting")
	}
	return b.String()
}

func converted(line int, flags string, verb byte, v any) string {
	n, f, whole, ok := numeric(v)
	switch {
	case verb == 's':
		return fmt.Sprintf(flags+"s", str(v))
	case verb == 'r':
		return fmt.Sprintf(flags+"s", python(v))
	case !ok:
		fail(line, "%%%c format: a real number is required, not %s", verb, typeName(v))
	case verb == 'd' || verb == 'i':
		if !whole {
			n = int(f)
		}
		return fmt.Sprintf(flags+"d", n)
	case verb == 'x' || verb == 'X' || verb == 'o':
		return fmt.Sprintf(flags+string(verb), n)
	case strings.IndexByte("feEgG", verb) >= 0:
		return fmt.Sprintf(flags+string(verb), f)
	}
	fail(line, "unsupported format character '%c'", verb)
	return ""
}

// braces is str.format with {}, {0} and {name}, without format specifications.
func braces(c *Call, s string) string {
	var b strings.Builder
	next := 0
	for {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			return b.String() + s
		}
		b.WriteString(s[:i])
		if i+1 < len(s) && s[i+1] == s[i] {
			b.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s, '}')
		if s[i] == '}' || end < 0 {
			fail(c.Line, "Single '%c' encountered in format string", s[i])
		}
		field := s[i+1 : end]
		s = s[end+1:]
		at := next
		if field == "" {
			next++
		} else if _, err := fmt.Sscanf(field, "%d", &at); err != nil {
			at = len(c.Args)
		}
		v := c.argument(at, field, Undefined{"no value for the field '" + field + "'"})
		defined(c.Line, v)
		b.WriteString(str(v))
	}
}
