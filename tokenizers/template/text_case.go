package template

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

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
