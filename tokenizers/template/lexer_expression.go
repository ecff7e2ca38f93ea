package template

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
