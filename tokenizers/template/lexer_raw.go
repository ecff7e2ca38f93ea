package template

import (
	"strings"
	"unicode"
)

// raw reads {% raw %} … {% endraw %} when that is what comes.
func (l *lexer) raw() bool {
	rest := strings.TrimLeftFunc(l.source[l.at:], unicode.IsSpace)
	rest, found := strings.CutPrefix(rest, "raw")
	if !found {
		return false
	}
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	sign := byte(0)
	if strings.HasPrefix(rest, "-") {
		sign, rest = '-', rest[1:]
	}
	if !strings.HasPrefix(rest, "%}") {
		return false
	}
	l.at = len(l.source) - len(rest) + 2
	l.after(sign, false)
	l.endRaw()
	return true
}

func (l *lexer) endRaw() {
	body := l.source[l.at:]
	for from := 0; ; {
		i := strings.Index(body[from:], "{%")
		if i < 0 {
			l.fail("Missing end of raw directive")
		}
		i += from
		from = i + 2
		tag := body[from:]
		sign := byte(0)
		if tag != "" && (tag[0] == '-' || tag[0] == '+') {
			sign, tag = tag[0], tag[1:]
		}
		tag, found := strings.CutPrefix(strings.TrimLeftFunc(tag, unicode.IsSpace), "endraw")
		if !found {
			continue
		}
		tag = strings.TrimLeftFunc(tag, unicode.IsSpace)
		end := byte(0)
		if tag != "" && (tag[0] == '-' || tag[0] == '+') {
			end, tag = tag[0], tag[1:]
		}
		if strings.HasPrefix(tag, "%}") {
			l.text(l.before(body[:i], "{%", sign))
			l.at = len(l.source) - len(tag) + 2
			l.after(end, true)
			return
		}
	}
}
