package template

import (
	"strings"
	"unicode"
)

// lexer cuts a template into tokens. Jinja's whitespace rules are applied here:
// https://jinja.palletsprojects.com/en/stable/templates/#whitespace-control
type lexer struct {
	source string
	at     int
	tokens []token
	// fresh says that what comes next begins a line: lstrip_blocks applies.
	fresh bool
	line  int
	seen  int // source[:seen] has been counted into line
}

func lex(source string) []token {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	l := &lexer{source: strings.TrimSuffix(source, "\n"), fresh: true, line: 1}
	for l.at < len(l.source) {
		l.data()
	}
	l.add(endOfTemplate, "")
	return l.tokens
}

func (l *lexer) add(k kind, value string) {
	l.line += strings.Count(l.source[l.seen:l.at], "\n")
	l.seen = l.at
	l.tokens = append(l.tokens, token{k, value, l.line})
}

func (l *lexer) fail(message string) {
	l.add(endOfTemplate, "")
	panic(&Error{Line: l.line, Message: message})
}

// data reads up to the next tag and then the tag.
func (l *lexer) data() {
	rest := l.source[l.at:]
	start := nextTag(rest)
	if start == len(rest) {
		l.text(rest)
		l.at = len(l.source)
		return
	}
	open := rest[start : start+2]
	sign := byte(0)
	if start+2 < len(rest) {
		sign = rest[start+2]
	}
	l.text(l.before(rest[:start], open, sign))
	l.at += start + 2
	if sign == '-' || sign == '+' && open != "{{" {
		l.at++
	}
	switch {
	case open == "{#":
		l.comment()
	case open == "{{":
		l.add(variableBegin, "")
		l.expression("}}", variableEnd)
	case !l.raw():
		l.add(blockBegin, "")
		l.expression("%}", blockEnd)
	}
}

// nextTag returns the start of the next tag, or the length of s. It reads no further than that.
func nextTag(s string) int {
	for at := 0; ; at++ {
		brace := strings.IndexByte(s[at:], '{')
		if brace < 0 {
			return len(s)
		}
		at += brace
		if at+1 < len(s) && strings.IndexByte("%{#", s[at+1]) >= 0 {
			return at
		}
	}
}

func (l *lexer) text(s string) {
	if s != "" {
		l.add(data, s)
	}
}

// before strips the text in front of a tag as the tag and the settings ask.
func (l *lexer) before(s, open string, sign byte) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(s, unicode.IsSpace)
	case sign == '+' || open == "{{":
		return s
	}
	line := strings.LastIndexByte(s, '\n') + 1
	if (line > 0 || l.fresh) && strings.TrimSpace(s[line:]) == "" {
		return s[:line]
	}
	return s
}

// after consumes what belongs to the end of a tag: all whitespace behind a minus, and the first newline behind a block
// or comment.
func (l *lexer) after(sign byte, trim bool) {
	start := l.at
	switch {
	case sign == '-':
		l.at = len(l.source) - len(strings.TrimLeftFunc(l.source[l.at:], unicode.IsSpace))
	case trim && sign != '+' && strings.HasPrefix(l.source[l.at:], "\n"):
		l.at++
	}
	l.fresh = l.at > start && l.source[l.at-1] == '\n'
}

func (l *lexer) comment() {
	end := strings.Index(l.source[l.at:], "#}")
	if end < 0 {
		l.fail("Missing end of comment tag")
	}
	sign := byte(0)
	if end > 0 {
		sign = l.source[l.at+end-1]
	}
	l.at += end + 2
	l.after(sign, true)
}
