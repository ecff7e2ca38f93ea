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

// loop reads a for statement.
func (p *parser) loop(line int) statement {
	f := &loopStatement{line: line, set: p.target(false)}
	p.expect(name, "in")
	f.items = p.tupleOf(p.or)
	if p.skip(name, "if") {
		f.test = p.expression()
	}
	f.recursive = p.skip(name, "recursive")
	p.expect(blockEnd, "")
	p.loops++
	f.body = p.until("else", "endfor")
	p.loops--
	if p.next().value == "else" {
		f.otherwise = p.rest("endfor")
	} else {
		p.expect(blockEnd, "")
	}
	return func(s *state) signal { f.run(s, f.items(s), 1); return done }
}

type loopStatement struct {
	line            int
	set             func(*state, any)
	items           expression
	test            expression
	recursive       bool
	body, otherwise []statement
}

func (f *loopStatement) run(s *state, over any, depth int) {
	e := s.step(f.line)
	items := list(e, over)
	if f.test != nil {
		items = slices.DeleteFunc(slices.Clone(items), func(item any) bool {
			inner := s.inner(s.out)
			f.set(inner, item)
			return !truth(f.test(inner))
		})
	}
	if len(items) == 0 {
		execute(f.otherwise, s)
		return
	}
	around := &Loop{items: items, depth: depth}
	if f.recursive {
		around.again = func(over any) string {
			e.enter()
			defer e.leave()
			return captured([]statement{func(s *state) signal { f.run(s, over, depth+1); return done }}, s)
		}
	}
	for i, item := range items {
		s.step(f.line)
		around.at = i
		inner := s.inner(s.out)
		inner.vars.names["loop"] = around
		f.set(inner, item)
		if execute(f.body, inner) == breaking {
			return
		}
	}
}

// Loop is the name loop inside a for statement.
type Loop struct {
	items   []any
	at      int
	depth   int
	changed []any
	again   func(any) string
}

func (l *Loop) attribute(name string) any {
	n := len(l.items)
	switch name {
	case "index":
		return l.at + 1
	case "index0":
		return l.at
	case "revindex":
		return n - l.at
	case "revindex0":
		return n - l.at - 1
	case "first":
		return l.at == 0
	case "last":
		return l.at == n-1
	case "length":
		return n
	case "depth":
		return l.depth
	case "depth0":
		return l.depth - 1
	case "previtem":
		if l.at > 0 {
			return l.items[l.at-1]
		}
		return Undefined{"there is no previous item"}
	case "nextitem":
		if l.at < n-1 {
			return l.items[l.at+1]
		}
		return Undefined{"there is no next item"}
	case "cycle":
		return Function(func(c *Call) any {
			if len(c.Args) == 0 {
				c.fail("no items for cycling given")
			}
			return c.Args[l.at%len(c.Args)]
		})
	case "changed":
		return Function(func(c *Call) any {
			same := l.changed != nil && equal(c.eval, l.changed, c.Args)
			l.changed = c.Args
			return !same
		})
	}
	return missing("loop", name)
}

// deeper bounds the depth of calls.
func (e eval) enter() {
	if e.run.depth++; e.run.depth > mostDepth {
		e.fail("calls are nested too deeply")
	}
}

func (e eval) leave() { e.run.depth-- }
