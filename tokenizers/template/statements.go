package template

import (
	"strings"
)

func (p *parser) statement() statement {
	t := p.expect(name, "")
	switch t.value {
	case "if":
		return p.conditional(t.line)
	case "for":
		return p.loop(t.line)
	case "set":
		return p.assignment(t.line)
	case "macro":
		return p.macro()
	case "call":
		return p.callBlock(t.line)
	case "filter":
		return p.filterBlock(t.line)
	case "with":
		return p.with()
	case "generation":
		body := p.rest("endgeneration")
		return func(s *state) signal { return execute(body, s.inner(s.out)) }
	case "break", "continue":
		if p.loops == 0 {
			fail(t.line, "'%s' outside of a loop", t.value)
		}
		p.expect(blockEnd, "")
		sig := breaking
		if t.value == "continue" {
			sig = continuing
		}
		return func(*state) signal { return sig }
	}
	fail(t.line, "Encountered unknown tag %s", t)
	return nil
}

func (p *parser) conditional(line int) statement {
	test := p.tuple()
	p.expect(blockEnd, "")
	then := p.until("elif", "else", "endif")
	var otherwise []statement
	switch t := p.next(); t.value {
	case "elif":
		otherwise = []statement{p.conditional(t.line)}
	case "else":
		otherwise = p.rest("endif")
	default:
		p.expect(blockEnd, "")
	}
	return func(s *state) signal {
		s.step(line)
		if truth(test(s)) {
			return execute(then, s)
		}
		return execute(otherwise, s)
	}
}

// target is where a value goes: a name, an attribute of a namespace, or several of them.
func (p *parser) target(attributes bool) func(*state, any) {
	var targets []func(*state, any)
	bracketed := p.skip(operator, "(")
	several := false
	for {
		t := p.expect(name, "")
		one := func(s *state, v any) { s.vars.names[t.value] = v }
		if attributes && p.skip(operator, ".") {
			attribute := p.expect(name, "").value
			one = func(s *state, v any) {
				ns, _ := s.vars.find(t.value)
				space, ok := ns.(*Namespace)
				if !ok {
					fail(t.line, "cannot assign attribute on non-namespace object")
				}
				space.names[attribute] = v
			}
		}
		targets = append(targets, one)
		if !p.skip(operator, ",") || p.peek().kind != name || p.is(name, "in") {
			break
		}
		several = true
	}
	if bracketed {
		p.expect(operator, ")")
	}
	if !several {
		return targets[0]
	}
	line := p.peek().line
	return func(s *state, v any) {
		e := s.step(line)
		values := list(e, v)
		if len(values) != len(targets) {
			e.fail("cannot unpack %d values into %d names", len(values), len(targets))
		}
		for i, set := range targets {
			set(s, values[i])
		}
	}
}

func (p *parser) assignment(line int) statement {
	set := p.target(true)
	if p.skip(operator, "=") {
		value := p.tuple()
		p.expect(blockEnd, "")
		return func(s *state) signal { s.step(line); set(s, value(s)); return done }
	}
	filter := p.filters()
	body := p.rest("endset")
	return func(s *state) signal { s.step(line); set(s, filter(s, captured(body, s))); return done }
}

func (p *parser) filterBlock(line int) statement {
	p.tokens[p.at-1] = token{operator, "|", line} // read as value | name …
	p.at--
	filter := p.filters()
	body := p.rest("endfilter")
	return func(s *state) signal {
		e := s.step(line)
		s.write(line, str(e, filter(s, captured(body, s))))
		return done
	}
}

// captured is what body writes, in a new scope.
func captured(body []statement, s *state) string {
	var out strings.Builder
	execute(body, s.inner(&out))
	return out.String()
}

func (p *parser) with() statement {
	var sets []func(outer, inner *state)
	for p.peek().kind != blockEnd {
		if len(sets) > 0 {
			p.expect(operator, ",")
		}
		set := p.target(false)
		p.expect(operator, "=")
		value := p.expression()
		sets = append(sets, func(outer, inner *state) { set(inner, value(outer)) })
	}
	body := p.rest("endwith")
	return func(s *state) signal {
		inner := s.inner(s.out)
		for _, set := range sets {
			set(s, inner)
		}
		return execute(body, inner)
	}
}
