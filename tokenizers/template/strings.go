package template

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// stringMethods are those of Python's str that templates use.
var stringMethods = map[string]func(*Call, string) any{
	"upper":      func(c *Call, s string) any { return upper(c.readText(s)) },
	"lower":      func(c *Call, s string) any { return lower(c.readText(s)) },
	"casefold":   func(c *Call, s string) any { return cases.Fold().String(c.readText(s)) },
	"title":      func(c *Call, s string) any { return title(c.readText(s)) },
	"capitalize": func(c *Call, s string) any { return capitalized(c.readText(s)) },
	"strip":      func(c *Call, s string) any { return c.trim(s, strings.TrimFunc) },
	"lstrip":     func(c *Call, s string) any { return c.trim(s, strings.TrimLeftFunc) },
	"rstrip":     func(c *Call, s string) any { return c.trim(s, strings.TrimRightFunc) },
	"split":      func(c *Call, s string) any { return split(c, s, false) },
	"rsplit":     func(c *Call, s string) any { return split(c, s, true) },
	"splitlines": func(c *Call, s string) any {
		return lines(c.eval, c.readText(s), truth(c.argument(0, "keepends", false)))
	},
	"startswith":   func(c *Call, s string) any { return affixed(c, s, strings.HasPrefix) },
	"endswith":     func(c *Call, s string) any { return affixed(c, s, strings.HasSuffix) },
	"removeprefix": func(c *Call, s string) any { return strings.TrimPrefix(s, c.affix()) },
	"removesuffix": func(c *Call, s string) any { return strings.TrimSuffix(s, c.affix()) },
	"replace": func(c *Call, s string) any {
		return replace(c.eval, s, c.text(0), c.text(1), c.whole(2, "count", -1))
	},
	"find":  func(c *Call, s string) any { return runeIndex(s, strings.Index(s, c.part(s))) },
	"rfind": func(c *Call, s string) any { return runeIndex(s, strings.LastIndex(s, c.part(s))) },
	"count": func(c *Call, s string) any { return strings.Count(s, c.part(s)) },
	"partition": func(c *Call, s string) any {
		return partition(c, s, strings.Index(s, c.part(s)), Tuple{s, "", ""})
	},
	"rpartition": func(c *Call, s string) any {
		return partition(c, s, strings.LastIndex(s, c.part(s)), Tuple{"", "", s})
	},
	"join": func(c *Call, s string) any {
		texts := []string{}
		for i, item := range list(c.eval, c.argument(0, "iterable", nil)) {
			text, ok := item.(string)
			if !ok {
				c.fail("sequence item %d: expected str instance, %s found", i, typeName(item))
			}
			texts = append(texts, text)
		}
		return join(c.eval, texts, s)
	},
	"isdigit":   func(c *Call, s string) any { return every(c.readText(s), unicode.IsDigit) },
	"isnumeric": func(c *Call, s string) any { return every(c.readText(s), unicode.IsNumber) },
	"isalpha":   func(c *Call, s string) any { return every(c.readText(s), unicode.IsLetter) },
	"isalnum":   func(c *Call, s string) any { return every(c.readText(s), isAlnum) },
	"isspace":   func(c *Call, s string) any { return every(c.readText(s), unicode.IsSpace) },
	"isupper":   func(c *Call, s string) any { return isUpper(c.readText(s)) },
	"islower":   func(c *Call, s string) any { return isLower(c.readText(s)) },
	"ljust":     func(c *Call, s string) any { return c.readText(s) + c.fill(s) },
	"rjust":     func(c *Call, s string) any { return c.fill(s) + c.readText(s) },
	"zfill":     zeros,
	"format":    func(c *Call, s string) any { return braces(c, s) },
}

// text is a string argument that must be there.
func (c *Call) text(i int) string {
	s, ok := c.argument(i, "", nil).(string)
	if !ok {
		c.fail("argument %d must be str, not %s", i+1, typeName(c.argument(i, "", nil)))
	}
	return s
}

// part is the first argument, which is about to be looked for in a text.
func (c *Call) part(text string) string {
	part := c.text(0)
	c.chargeSearch(text, part)
	return part
}

// whole is an integer argument.
func (c *Call) whole(i int, name string, otherwise int) int {
	v := c.argument(i, name, otherwise)
	n, _, whole, ok := numeric(v)
	if !ok || !whole {
		c.fail("'%s' object cannot be interpreted as an integer", typeName(v))
	}
	return n
}

func (c *Call) fill(s string) string {
	with, ok := c.argument(1, "fillchar", " ").(string)
	if !ok || utf8.RuneCountInString(with) != 1 {
		c.fail("The fill character must be exactly one character long")
	}
	return c.padding(with, c.whole(0, "width", 0)-length(c.eval, s))
}

func zeros(c *Call, s string) any {
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	return sign + c.padding("0", c.whole(0, "width", 0)-len(sign)-length(c.eval, s)) + c.readText(s)
}

// trim removes the characters of the argument chars, or white space, from the ends. It reads no more than it removes.
func (c *Call) trim(s string, trim func(string, func(rune) bool) string) string {
	trims := unicode.IsSpace
	if chars, ok := c.argument(0, "chars", nil).(string); ok {
		c.chargeText(len(chars))
		set := map[rune]bool{}
		for _, r := range chars {
			set[r] = true
		}
		trims = func(r rune) bool { return set[r] }
	}
	result := trim(s, trims)
	c.chargeText(len(s) - len(result))
	return result
}

// affix returns the argument of startswith or endswith.
func (c *Call) affix() string {
	affix := c.text(0)
	c.chargeText(len(affix))
	return affix
}

func affixed(c *Call, s string, has func(string, string) bool) bool {
	affixes, many := c.argument(0, "", nil).(Tuple)
	if !many {
		return has(s, c.affix())
	}
	for _, affix := range list(c.eval, affixes) {
		if has(s, c.readText(affix)) {
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

// upper and lower map as Python does: one letter may become two.
func upper(s string) string { return cases.Upper(language.Und).String(s) }

func lower(s string) string { return cases.Lower(language.Und).String(s) }

func isUpper(s string) bool { return s != strings.ToLower(s) && s == strings.ToUpper(s) }

func isLower(s string) bool { return s != strings.ToUpper(s) && s == strings.ToLower(s) }

func isAlnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func every(s string, is func(rune) bool) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
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

func partition(c *Call, s string, at int, otherwise Tuple) any {
	if at < 0 {
		return otherwise
	}
	separator := c.text(0)
	return Tuple{s[:at], separator, s[at+len(separator):]}
}

func split(c *Call, s string, fromRight bool) any {
	separator := c.argument(0, "sep", nil)
	most := c.whole(1, "maxsplit", -1)
	part, _ := separator.(string)
	c.chargeSearch(s, part)
	var cut func() (part, rest string, found bool) // the next part
	rest := s
	text, given := separator.(string)
	switch {
	case given && text == "":
		c.fail("empty separator")
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
		c.charge(1)
		pieces = append(pieces, piece)
		rest = left
		most--
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

// lines implements str.splitlines.
func lines(e eval, s string, keepEnds bool) []any {
	lines := []any{}
	for s != "" {
		e.charge(1)
		end := strings.IndexFunc(s, endsLine)
		if end < 0 {
			return append(lines, s)
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		if strings.HasPrefix(s[end:], "\r\n") {
			size = 2
		}
		line := s[:end]
		if keepEnds {
			line = s[:end+size]
		}
		lines = append(lines, line)
		s = s[end+size:]
	}
	return lines
}

func endsLine(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}
