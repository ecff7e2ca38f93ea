package template

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// stringMethods are the methods of Python's str that templates use.
var stringMethods = map[string]func(*call, string) any{
	"upper":      textMethod(upper),
	"lower":      textMethod(lower),
	"casefold":   textMethod(func(s string) string { return cases.Fold().String(s) }),
	"title":      textMethod(title),
	"capitalize": textMethod(capitalize),
	"isdigit":    textMethod(everyRune(unicode.IsDigit)),
	"isnumeric":  textMethod(everyRune(unicode.IsNumber)),
	"isalpha":    textMethod(everyRune(unicode.IsLetter)),
	"isalnum":    textMethod(everyRune(isAlnum)),
	"isspace":    textMethod(everyRune(unicode.IsSpace)),
	"isupper":    textMethod(isUpper),
	"islower":    textMethod(isLower),

	"strip":        func(c *call, s string) any { return c.trim(s, strings.TrimFunc) },
	"lstrip":       func(c *call, s string) any { return c.trim(s, strings.TrimLeftFunc) },
	"rstrip":       func(c *call, s string) any { return c.trim(s, strings.TrimRightFunc) },
	"removeprefix": func(c *call, s string) any { return strings.TrimPrefix(s, c.affix()) },
	"removesuffix": func(c *call, s string) any { return strings.TrimSuffix(s, c.affix()) },
	"startswith":   func(c *call, s string) any { return hasAffix(c, s, strings.HasPrefix) },
	"endswith":     func(c *call, s string) any { return hasAffix(c, s, strings.HasSuffix) },
	"ljust":        func(c *call, s string) any { return c.readText(s) + c.justification(s) },
	"rjust":        func(c *call, s string) any { return c.justification(s) + c.readText(s) },
	"zfill":        zfill,
	"format":       func(c *call, s string) any { return formatBraces(c, s) },

	"find":       func(c *call, s string) any { return runeIndex(s, strings.Index(s, c.part(s))) },
	"rfind":      func(c *call, s string) any { return runeIndex(s, strings.LastIndex(s, c.part(s))) },
	"count":      func(c *call, s string) any { return strings.Count(s, c.part(s)) },
	"split":      func(c *call, s string) any { return split(c, s, false) },
	"rsplit":     func(c *call, s string) any { return split(c, s, true) },
	"splitlines": func(c *call, s string) any { return splitLines(c.evaluation, c.readText(s), c.flag(0, "keepends")) },
	"partition": func(c *call, s string) any {
		return partition(c, s, strings.Index(s, c.part(s)), tuple{s, "", ""})
	},
	"rpartition": func(c *call, s string) any {
		return partition(c, s, strings.LastIndex(s, c.part(s)), tuple{"", "", s})
	},
	"replace": func(c *call, s string) any {
		return replace(c.evaluation, s, c.text(0), c.text(1), c.integer(2, "count", -1))
	},
	"join": func(c *call, s string) any {
		texts := []string{}
		for i, item := range elements(c.evaluation, c.argument(0, "iterable", nil)) {
			text, ok := item.(string)
			if !ok {
				c.fail("sequence item %d: expected str instance, %s found", i, typeName(item))
			}
			texts = append(texts, text)
		}
		return join(c.evaluation, texts, s)
	},
}

// textMethod is a method without arguments that reads the whole text.
func textMethod[R any](f func(string) R) func(*call, string) any {
	filter := textFilter(f)
	return func(c *call, s string) any { return filter(c, s) }
}

// text returns a required string argument.
func (c *call) text(i int) string {
	s, ok := c.argument(i, "", nil).(string)
	if !ok {
		c.fail("argument %d must be str, not %s", i+1, typeName(c.argument(i, "", nil)))
	}
	return s
}

// part returns the first argument and charges for searching text for it.
func (c *call) part(text string) string {
	part := c.text(0)
	c.chargeSearch(text, part)
	return part
}

// integer returns an integer argument.
func (c *call) integer(i int, name string, otherwise int) int {
	v := c.argument(i, name, otherwise)
	n, _, isInt, ok := numeric(v)
	if !ok || !isInt {
		c.fail("'%s' object cannot be interpreted as an integer", typeName(v))
	}
	return n
}

// flag returns the truth of an argument, which is false by default.
func (c *call) flag(i int, name string) bool { return truth(c.argument(i, name, false)) }

// justification returns the padding that ljust and rjust add to s.
func (c *call) justification(s string) string {
	fill, ok := c.argument(1, "fillchar", " ").(string)
	if !ok || utf8.RuneCountInString(fill) != 1 {
		c.fail("The fill character must be exactly one character long")
	}
	return c.padding(fill, c.integer(0, "width", 0)-length(c.evaluation, s))
}

func zfill(c *call, s string) any {
	_, digits := cutSign(s, "-+")
	sign := s[:len(s)-len(digits)]
	zeros := c.padding("0", c.integer(0, "width", 0)-len(sign)-length(c.evaluation, digits))
	return sign + zeros + c.readText(digits)
}

// trim removes the characters of the argument chars, or white space, from the ends of s. It reads no more than it
// removes.
func (c *call) trim(s string, trim func(string, func(rune) bool) string) string {
	isTrimmed := unicode.IsSpace
	if chars, ok := c.argument(0, "chars", nil).(string); ok {
		c.chargeText(len(chars))
		set := map[rune]bool{}
		for _, r := range chars {
			set[r] = true
		}
		isTrimmed = func(r rune) bool { return set[r] }
	}
	trimmed := trim(s, isTrimmed)
	c.chargeText(len(s) - len(trimmed))
	return trimmed
}

// affix returns a prefix or suffix given as the first argument.
func (c *call) affix() string {
	affix := c.text(0)
	c.chargeText(len(affix))
	return affix
}

// hasAffix reports whether s has the prefix or suffix that the first argument gives, or one of a tuple of them.
func hasAffix(c *call, s string, has func(string, string) bool) bool {
	affixes, isTuple := c.argument(0, "", nil).(tuple)
	if !isTuple {
		return has(s, c.affix())
	}
	for _, affix := range elements(c.evaluation, affixes) {
		if has(s, c.readText(affix)) {
			return true
		}
	}
	return false
}

// runeIndex converts a byte offset to a count of characters; -1 stays -1.
func runeIndex(s string, offset int) int {
	if offset < 0 {
		return -1
	}
	return utf8.RuneCountInString(s[:offset])
}

func upper(s string) string { return cases.Upper(language.Und).String(s) }

func lower(s string) string { return cases.Lower(language.Und).String(s) }

func isUpper(s string) bool { return s != strings.ToLower(s) && s == strings.ToUpper(s) }

func isLower(s string) bool { return s != strings.ToUpper(s) && s == strings.ToLower(s) }

func isAlnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// everyRune returns a predicate of texts that are not empty and have only runes with a property.
func everyRune(has func(rune) bool) func(string) bool {
	return func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !has(r) }) < 0
	}
}

// title is str.title: words are runs of letters.
func title(s string) string {
	return titleCase(s, func(r rune) bool { return !unicode.IsLetter(r) })
}

// titleCase capitalizes words and writes the rest in lower case. A word starts after a character that ends words.
func titleCase(s string, endsWord func(rune) bool) string {
	wordStart := true
	return strings.Map(func(r rune) rune {
		isFirst := wordStart
		wordStart = endsWord(r)
		if isFirst {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func capitalize(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToTitle(first)) + lower(s[size:])
}

// partition splits s around the first argument, which starts at a byte offset; a negative one gives otherwise.
func partition(c *call, s string, offset int, otherwise tuple) any {
	if offset < 0 {
		return otherwise
	}
	separator := c.text(0)
	return tuple{s[:offset], separator, s[offset+len(separator):]}
}

// split is str.split, or str.rsplit with fromRight.
func split(c *call, s string, fromRight bool) any {
	separator, hasSeparator := c.argument(0, "sep", nil).(string)
	splitsLeft := c.integer(1, "maxsplit", -1) // negative without a limit
	c.chargeSearch(s, separator)
	if hasSeparator && separator == "" {
		c.fail("empty separator")
	}
	unsplit := s
	cut := cutSpace
	switch {
	case hasSeparator && fromRight:
		cut = func(s string) (string, string, bool) { return cutLast(s, separator) }
	case hasSeparator:
		cut = func(s string) (string, string, bool) { return strings.Cut(s, separator) }
	case fromRight:
		unsplit = strings.TrimRightFunc(unsplit, unicode.IsSpace)
		cut = cutLastSpace
	default:
		unsplit = trimLeftSpace(unsplit)
	}
	pieces := []any{}
	for ; splitsLeft != 0; splitsLeft-- {
		piece, remainder, found := cut(unsplit)
		if !found {
			break
		}
		c.charge(1)
		pieces = append(pieces, piece)
		unsplit = remainder
	}
	if hasSeparator || unsplit != "" {
		pieces = append(pieces, unsplit)
	}
	if fromRight {
		slices.Reverse(pieces)
	}
	return pieces
}

// cutLast returns what follows and what precedes the last separator.
func cutLast(s, separator string) (after, before string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return "", "", false
	}
	return s[i+len(separator):], s[:i], true
}

// cutSpace cuts a word and the white space after it from the start of s.
func cutSpace(s string) (word, after string, found bool) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return "", "", false
	}
	return s[:i], trimLeftSpace(s[i:]), true
}

// cutLastSpace cuts a word and the white space before it from the end of s.
func cutLastSpace(s string) (word, before string, found bool) {
	i := strings.LastIndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return "", "", false
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	return s[i+size:], strings.TrimRightFunc(s[:i], unicode.IsSpace), true
}

// splitLines is str.splitlines.
func splitLines(e evaluation, s string, keepEnds bool) []any {
	lines := []any{}
	for s != "" {
		e.charge(1)
		end := strings.IndexFunc(s, isLineEnd)
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

func isLineEnd(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}
