package template

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	endOfTemplate kind = iota
	data
	blockBegin
	blockEnd
	variableBegin
	variableEnd
	name
	text
	integer
	float
	operator
)

var kindNames = [...]string{"end of template", "template data", "begin of statement block", "end of statement block",
	"begin of print statement", "end of print statement", "name", "string", "integer", "float", "operator"}

type token struct {
	kind  kind
	value string
	line  int
}

func (t token) String() string {
	if t.value != "" && t.kind != data {
		return "'" + t.value + "'"
	}
	return kindNames[t.kind]
}

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

// expression reads the tokens of a tag up to its end.
func (l *lexer) expression(end string, kind kind) {
	var open []byte // brackets; inside them a }} is two brackets
	for {
		l.at = len(l.source) - len(strings.TrimLeftFunc(l.source[l.at:], unicode.IsSpace))
		rest := l.source[l.at:]
		if rest == "" {
			l.fail("unexpected end of template")
		}
		if len(open) == 0 {
			sign := rest[0]
			tail := rest
			if sign == '-' || sign == '+' && kind == blockEnd {
				tail = rest[1:]
			}
			if strings.HasPrefix(tail, end) {
				l.add(kind, "")
				l.at = len(l.source) - len(tail) + 2
				l.after(sign, kind == blockEnd)
				return
			}
		}
		open = l.token(rest, open)
	}
}

var operators = []string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

// token reads one token of an expression and keeps book of brackets.
func (l *lexer) token(rest string, open []byte) []byte {
	first, _ := utf8.DecodeRuneInString(rest)
	switch {
	case first == '"' || first == '\'':
		l.quoted(rest)
		return open
	case first >= '0' && first <= '9':
		l.number(rest)
		return open
	case first == '_' || unicode.IsLetter(first):
		end := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if end < 0 {
			end = len(rest)
		}
		l.take(name, rest[:end])
		return open
	}
	for _, op := range operators {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		switch op {
		case "(", "[", "{":
			open = append(open, map[string]byte{"(": ')', "[": ']', "{": '}'}[op])
		case ")", "]", "}":
			if len(open) == 0 || open[len(open)-1] != op[0] {
				l.fail("unexpected '" + op + "'")
			}
			open = open[:len(open)-1]
		}
		l.take(operator, op)
		return open
	}
	l.fail("unexpected char " + repr(string(first)))
	return nil
}

func (l *lexer) take(k kind, value string) {
	l.add(k, value)
	l.at += len(value)
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
	k := integer
	if end+1 < len(s) && s[end] == '.' && s[end+1] >= '0' && s[end+1] <= '9' {
		end = digits(end + 1)
		k = float
	}
	if end+1 < len(s) && (s[end] == 'e' || s[end] == 'E') {
		from := end + 1
		if s[from] == '+' || s[from] == '-' {
			from++
		}
		if past := digits(from); past > from {
			end = past
			k = float
		}
	}
	l.take(k, s[:end])
}

func (l *lexer) quoted(s string) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			l.add(text, unescape(s[1:i]))
			l.at += i + 1
			return
		}
	}
	l.fail("unexpected char " + repr(s[:1]))
}
