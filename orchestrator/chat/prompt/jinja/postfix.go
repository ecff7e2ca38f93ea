package jinja

import "strconv"

// postfix reads what follows a value: .name, [index] and (arguments).
func (p *parser) postfix(value expression) expression {
	for {
		t := p.peek()
		switch {
		case p.skip(operator, "."):
			value = p.attribute(value)
		case p.skip(operator, "["):
			value = p.subscript(value, t.line)
		case p.is(operator, "("):
			value = p.call(value)
		default:
			return value
		}
	}
}

func (p *parser) attribute(of expression) expression {
	t := p.next()
	switch t.kind {
	case name:
		return func(s *state) any { s.step(t.line); return attribute(t.line, of(s), t.value) }
	case integer:
		if n, err := strconv.Atoi(t.value); err == nil {
			return func(s *state) any { return item(t.line, of(s), n) }
		}
	}
	fail(t.line, "expected name or number, got %s", t)
	return nil
}

// subscript reads [key] or [start:stop:step].
func (p *parser) subscript(of expression, line int) expression {
	var bounds [3]expression
	slice := false
	for i := 0; i < 3 && !p.is(operator, "]"); i++ {
		if !p.is(operator, ":") {
			bounds[i] = p.expression()
		}
		if !p.skip(operator, ":") {
			break
		}
		slice = true
	}
	p.expect(operator, "]")
	if !slice {
		key := bounds[0]
		if key == nil {
			fail(line, "expected an index")
		}
		return func(s *state) any { s.step(line); return item(line, of(s), key(s)) }
	}
	return func(s *state) any {
		s.step(line)
		value := of(s)
		var at [3]any
		for i, bound := range bounds {
			if bound != nil {
				at[i] = bound(s)
			}
		}
		return section(line, value, at[0], at[1], at[2])
	}
}

// arguments are those of a call, a filter or a test.
type arguments struct {
	values []expression
	names  []string
	named  []expression
}

func (p *parser) arguments() (a arguments) {
	p.expect(operator, "(")
	for first := true; !p.is(operator, ")"); first = false {
		if !first {
			p.expect(operator, ",")
			if p.is(operator, ")") {
				break
			}
		}
		if t := p.peek(); t.kind == name && p.tokens[p.at+1].kind == operator && p.tokens[p.at+1].value == "=" {
			p.at += 2
			a.names = append(a.names, t.value)
			a.named = append(a.named, p.expression())
			continue
		}
		a.values = append(a.values, p.expression())
	}
	p.next()
	return a
}

// Call is one call of a function, a filter or a method.
type Call struct {
	Line   int
	Args   []any
	Named  map[string]any
	names  []string // the keys of Named in their order
	caller any
	state  *state
}

func (a arguments) call(line int, s *state) *Call {
	s.step(line)
	c := &Call{Line: line, Args: all(a.values, s), names: a.names, state: s}
	for i, name := range a.names {
		if c.Named == nil {
			c.Named = map[string]any{}
		}
		c.Named[name] = a.named[i](s)
	}
	return c
}

// argument returns an argument by position or name, or what otherwise is.
func (c *Call) argument(i int, name string, otherwise any) any {
	if i < len(c.Args) {
		return c.Args[i]
	}
	if v, ok := c.Named[name]; ok {
		return v
	}
	return otherwise
}

func (p *parser) call(of expression) expression {
	line := p.peek().line
	args := p.arguments()
	return func(s *state) any {
		callee := of(s)
		if around, ok := callee.(*Loop); ok && around.again != nil {
			return around.again(args.call(line, s).argument(0, "iterable", nil))
		}
		function, ok := callee.(Function)
		if !ok {
			defined(line, callee)
			fail(line, "'%s' object is not callable", typeName(callee))
		}
		c := args.call(line, s)
		if caller, ok := s.vars.names[callerName]; ok {
			c.caller = caller
		}
		return function(c)
	}
}

// filtered reads what follows a value with its postfixes: | filter, is test.
func (p *parser) filtered(value expression) expression {
	for {
		switch {
		case p.is(operator, "|"):
			filter, inner := p.filter(), value
			value = func(s *state) any { return filter(s, inner(s)) }
		case p.skip(name, "is"):
			value = p.test(value)
		case p.is(operator, "("):
			value = p.call(value)
		default:
			return value
		}
	}
}

// filters reads any number of | filter.
func (p *parser) filters() func(*state, any) any {
	chain := func(_ *state, v any) any { return v }
	for p.is(operator, "|") {
		before, filter := chain, p.filter()
		chain = func(s *state, v any) any { return filter(s, before(s, v)) }
	}
	return chain
}

func (p *parser) filter() func(*state, any) any {
	p.expect(operator, "|")
	t := p.expect(name, "")
	apply, known := filters[t.value]
	if !known {
		fail(t.line, "No filter named %s.", t)
	}
	var args arguments
	if p.is(operator, "(") {
		args = p.arguments()
	}
	return func(s *state, v any) any { return apply(args.call(t.line, s), v) }
}

// test reads what follows "is". One argument may come without brackets.
func (p *parser) test(value expression) expression {
	negated := p.skip(name, "not")
	t := p.expect(name, "")
	apply, known := tests[t.value]
	if !known {
		fail(t.line, "No test named %s.", t)
	}
	var args arguments
	switch next := p.peek(); {
	case p.is(operator, "("):
		args = p.arguments()
	case next.kind == text || next.kind == integer || next.kind == float,
		next.kind == operator && (next.value == "[" || next.value == "{"),
		next.kind == name && !endsTest[next.value]:
		args.values = []expression{p.postfix(p.primary())}
	}
	return func(s *state) any { return apply(args.call(t.line, s), value(s)) != negated }
}

// endsTest are the names that cannot be the argument of a test.
var endsTest = map[string]bool{"else": true, "or": true, "and": true, "if": true, "is": true, "not": true, "in": true, "recursive": true}
