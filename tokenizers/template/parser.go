package template

import (
	"slices"
	"strings"
)

// parser reads tokens and returns what runs them.
type parser struct {
	tokens []token
	at     int
	loops  int // the number of for statements around
	depth  int // of expressions
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != endOfTemplate {
		p.at++
	}
	return t
}

func (p *parser) is(k kind, value string) bool { t := p.peek(); return t.kind == k && t.value == value }

func (p *parser) skip(k kind, value string) bool {
	if p.is(k, value) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(k kind, value string) token {
	t := p.next()
	if t.kind != k || value != "" && t.value != value {
		fail(t.line, "unexpected %s, expected %s", t, token{kind: k, value: value})
	}
	return t
}

func (p *parser) template() []statement {
	body := p.until()
	if t := p.peek(); t.kind != endOfTemplate {
		fail(t.line, "unexpected %s", t)
	}
	return body
}

// until reads statements up to a block that begins with one of the names, which is left with its name to read, or to
// the end of the template.
func (p *parser) until(ends ...string) (body []statement) {
	for {
		t := p.next()
		switch t.kind {
		case endOfTemplate:
			if len(ends) > 0 {
				fail(t.line, "unexpected end of template, expected %s", strings.Join(ends, " or "))
			}
			return body
		case data:
			body = append(body, func(s *state) signal { s.write(t.line, t.value); return done })
		case variableBegin:
			value := p.tuple()
			p.expect(variableEnd, "")
			body = append(body, func(s *state) signal { e := s.step(t.line); s.write(t.line, str(e, value(s))); return done })
		case blockBegin:
			if tag := p.peek(); slices.Contains(ends, tag.value) {
				return body
			}
			body = append(body, p.statement())
		default:
			fail(t.line, "unexpected %s", t)
		}
	}
}

// rest reads the body of a block up to its end tag.
func (p *parser) rest(end string) []statement {
	p.expect(blockEnd, "")
	body := p.until(end)
	p.next()
	p.expect(blockEnd, "")
	return body
}
