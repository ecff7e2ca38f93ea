package template

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
