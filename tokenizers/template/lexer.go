package template

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	endOfTemplate kind = iota
	dataToken
	blockBegin
	blockEnd
	variableBegin
	variableEnd
	nameToken
	stringToken
	integerToken
	floatToken
	operatorToken
)

var kindNames = [...]string{
	"end of template", "template data", "begin of statement block", "end of statement block",
	"begin of print statement", "end of print statement", "name", "string", "integer", "float", "operator",
}

type token struct {
	kind  kind
	value string
	line  int
}

// is reports whether a token is a name or operator.
func (t token) is(word string) bool {
	return (t.kind == nameToken || t.kind == operatorToken) && t.value == word
}

func (t token) String() string {
	if t.value != "" && t.kind != dataToken {
		return "'" + t.value + "'"
	}
	return kindNames[t.kind]
}

// lexer splits a template into tokens. It applies Jinja's whitespace rules:
// https://jinja.palletsprojects.com/en/stable/templates/#whitespace-control
type lexer struct {
	source    string
	at        int
	tokens    []token
	lineStart bool // the next character starts a line, so lstrip_blocks applies
	line      int
	counted   int // the newlines of source[:counted] are included in line
}

func lex(source string) []token {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	l := &lexer{source: strings.TrimSuffix(source, "\n"), lineStart: true, line: 1}
	for l.at < len(l.source) {
		l.textAndTag()
	}
	l.add(endOfTemplate, "")
	return l.tokens
}

func (l *lexer) add(k kind, value string) {
	l.line += strings.Count(l.source[l.counted:l.at], "\n")
	l.counted = l.at
	l.tokens = append(l.tokens, token{k, value, l.line})
}

// addAndAdvance adds a token that is written as value.
func (l *lexer) addAndAdvance(k kind, value string) {
	l.add(k, value)
	l.at += len(value)
}

func (l *lexer) addData(s string) {
	if s != "" {
		l.add(dataToken, s)
	}
}

func (l *lexer) fail(message string) {
	l.add(endOfTemplate, "")
	panic(&Error{Line: l.line, Message: message})
}

// unread returns the source from the current position on.
func (l *lexer) unread() string { return l.source[l.at:] }

// seek moves to the start of suffix, a suffix of the source.
func (l *lexer) seek(suffix string) { l.at = len(l.source) - len(suffix) }

func trimLeftSpace(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }

// cutSign cuts one of signs from the start of s; sign is 0 if there is none.
func cutSign(s, signs string) (sign byte, after string) {
	if s != "" && strings.IndexByte(signs, s[0]) >= 0 {
		return s[0], s[1:]
	}
	return 0, s
}

// textAndTag reads the text up to the next tag, and the tag.
func (l *lexer) textAndTag() {
	unread := l.unread()
	start := nextTag(unread)
	if start == len(unread) {
		l.addData(unread)
		l.at = len(l.source)
		return
	}
	open := unread[start : start+2]
	signs := "-+"
	if open == "{{" {
		signs = "-"
	}
	sign, inner := cutSign(unread[start+2:], signs)
	l.addData(l.stripBefore(unread[:start], open, sign))
	l.seek(inner)
	switch {
	case open == "{#":
		l.comment()
	case open == "{{":
		l.add(variableBegin, "")
		l.tagBody("}}", variableEnd)
	case !l.raw():
		l.add(blockBegin, "")
		l.tagBody("%}", blockEnd)
	}
}

// nextTag returns the start of the next tag, or the length of s. It reads no further than the tag.
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

// stripBefore strips the text before a tag: all white space for a minus, the indentation of a block or comment that is
// alone on its line, nothing for a plus.
func (l *lexer) stripBefore(s, open string, sign byte) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(s, unicode.IsSpace)
	case sign == '+' || open == "{{":
		return s
	}
	line := strings.LastIndexByte(s, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimSpace(s[line:]) == "" {
		return s[:line]
	}
	return s
}

// stripAfter skips what is stripped after a tag: all white space for a minus, or the first newline if trim is set, as
// it is for blocks and comments.
func (l *lexer) stripAfter(sign byte, trim bool) {
	start := l.at
	switch {
	case sign == '-':
		l.seek(trimLeftSpace(l.unread()))
	case trim && sign != '+' && strings.HasPrefix(l.unread(), "\n"):
		l.at++
	}
	l.lineStart = l.at > start && l.source[l.at-1] == '\n'
}

func (l *lexer) comment() {
	end := strings.Index(l.unread(), "#}")
	if end < 0 {
		l.fail("Missing end of comment tag")
	}
	sign := byte(0)
	if end > 0 {
		sign = l.source[l.at+end-1]
	}
	l.at += end + 2
	l.stripAfter(sign, true)
}

// raw reads {% raw %} … {% endraw %} and reports whether the tag is one.
func (l *lexer) raw() bool {
	after, isRaw := strings.CutPrefix(trimLeftSpace(l.unread()), "raw")
	if !isRaw {
		return false
	}
	sign, after := cutSign(trimLeftSpace(after), "-")
	body, closed := strings.CutPrefix(after, "%}")
	if !closed {
		return false
	}
	l.seek(body)
	l.stripAfter(sign, false)
	l.rawBody()
	return true
}

func (l *lexer) rawBody() {
	body := l.unread()
	for from := 0; ; {
		i := strings.Index(body[from:], "{%")
		if i < 0 {
			l.fail("Missing end of raw directive")
		}
		i += from
		from = i + 2
		sign, tag := cutSign(body[from:], "-+")
		tag, isEnd := strings.CutPrefix(trimLeftSpace(tag), "endraw")
		if !isEnd {
			continue
		}
		endSign, tag := cutSign(trimLeftSpace(tag), "-+")
		if after, closed := strings.CutPrefix(tag, "%}"); closed {
			l.addData(l.stripBefore(body[:i], "{%", sign))
			l.seek(after)
			l.stripAfter(endSign, true)
			return
		}
	}
}

// tagBody reads the tokens of a tag up to its end, of which it makes a token of the given kind.
func (l *lexer) tagBody(end string, kind kind) {
	signs := "-"
	if kind == blockEnd {
		signs = "-+"
	}
	var open []byte // closing brackets to come; inside brackets, }} is two of them
	for {
		l.seek(trimLeftSpace(l.unread()))
		unread := l.unread()
		if unread == "" {
			l.fail("unexpected end of template")
		}
		if len(open) == 0 {
			sign, unsigned := cutSign(unread, signs)
			if after, ended := strings.CutPrefix(unsigned, end); ended {
				l.add(kind, "")
				l.seek(after)
				l.stripAfter(sign, kind == blockEnd)
				return
			}
		}
		open = l.expressionToken(unread, open)
	}
}

// operators are in the order in which they are tried: the long ones first.
var operators = []string{
	"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".",
	":", "|", ",", ";",
}

var closingBrackets = map[string]byte{"(": ')', "[": ']', "{": '}'}

// expressionToken reads the token at the start of s, and returns the closing brackets to come after it.
func (l *lexer) expressionToken(s string, open []byte) []byte {
	first, _ := utf8.DecodeRuneInString(s)
	switch {
	case first == '"' || first == '\'':
		l.quoted(s)
		return open
	case first >= '0' && first <= '9':
		l.number(s)
		return open
	case first == '_' || unicode.IsLetter(first):
		end := strings.IndexFunc(s, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		if end < 0 {
			end = len(s)
		}
		l.addAndAdvance(nameToken, s[:end])
		return open
	}
	i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(s, op) })
	if i < 0 {
		l.fail("unexpected char " + reprString(string(first)))
	}
	op := operators[i]
	switch op {
	case "(", "[", "{":
		open = append(open, closingBrackets[op])
	case ")", "]", "}":
		if len(open) == 0 || open[len(open)-1] != op[0] {
			l.fail("unexpected '" + op + "'")
		}
		open = open[:len(open)-1]
	}
	l.addAndAdvance(operatorToken, op)
	return open
}

// number reads 42, 1_000, 1.5 or 1e3. A dot must be followed by a digit.
func (l *lexer) number(s string) {
	digits := func(i int) int {
		for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '_') {
			i++
		}
		return i
	}
	end := digits(0)
	k := integerToken
	if end+1 < len(s) && s[end] == '.' && s[end+1] >= '0' && s[end+1] <= '9' {
		end = digits(end + 1)
		k = floatToken
	}
	if end+1 < len(s) && (s[end] == 'e' || s[end] == 'E') {
		start := end + 1
		if s[start] == '+' || s[start] == '-' {
			start++
		}
		if exponentEnd := digits(start); exponentEnd > start {
			end = exponentEnd
			k = floatToken
		}
	}
	l.addAndAdvance(k, s[:end])
}

func (l *lexer) quoted(s string) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			l.add(stringToken, unescape(s[1:i]))
			l.at += i + 1
			return
		}
	}
	l.fail("unexpected char " + reprString(s[:1]))
}
