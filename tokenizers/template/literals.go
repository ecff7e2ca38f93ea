package template

import (
	"errors"
	"strconv"
	"strings"
)

func constant(v any) expression { return func(*state) any { return v } }

func (p *parser) primary() expression {
	t := p.next()
	switch t.kind {
	case name:
		return p.named(t)
	case text:
		values := []string{t.value}
		for p.peek().kind == text {
			values = append(values, p.next().value)
		}
		return constant(strings.Join(values, ""))
	case integer, float:
		return number(t)
	case operator:
		switch t.value {
		case "(":
			return p.parenthesis()
		case "[":
			return p.listLiteral(t.line)
		case "{":
			return p.dictLiteral(t.line)
		}
	}
	fail(t.line, "unexpected %s", t)
	return nil
}

func (p *parser) named(t token) expression {
	switch t.value {
	case "true", "True":
		return constant(true)
	case "false", "False":
		return constant(false)
	case "none", "None":
		return constant(nil)
	}
	return func(s *state) any {
		if v, ok := s.vars.find(t.value); ok {
			return v
		}
		if v, ok := globals[t.value]; ok {
			return v
		}
		return Undefined{"'" + t.value + "' is undefined"}
	}
}

func number(t token) expression {
	digits := strings.ReplaceAll(t.value, "_", "")
	if t.kind == integer {
		n, err := strconv.Atoi(digits)
		if err != nil {
			fail(t.line, "integer overflow: %s is beyond 64 bits", t.value)
		}
		return constant(n)
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // too large a number is infinite, as in Python
		fail(t.line, "invalid number %s", t)
	}
	return constant(f)
}

func (p *parser) parenthesis() expression {
	if p.skip(operator, ")") {
		return constant(Tuple{})
	}
	value := p.tuple()
	p.expect(operator, ")")
	return value
}

func (p *parser) listLiteral(line int) expression {
	var items []expression
	for !p.is(operator, "]") {
		if len(items) > 0 {
			p.expect(operator, ",")
			if p.is(operator, "]") {
				break
			}
		}
		items = append(items, p.expression())
	}
	p.next()
	return func(s *state) any { return evaluateAll(s.step(line), items, s) }
}

func (p *parser) dictLiteral(line int) expression {
	var keys, values []expression
	for !p.is(operator, "}") {
		if len(keys) > 0 {
			p.expect(operator, ",")
			if p.is(operator, "}") {
				break
			}
		}
		keys = append(keys, p.expression())
		p.expect(operator, ":")
		values = append(values, p.expression())
	}
	p.next()
	return func(s *state) any {
		e := s.step(line)
		e.charge(len(keys))
		d := &Dict{}
		for i, key := range keys {
			d.set(e, key(s), values[i](s))
		}
		return d
	}
}
