package template

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
	eval
	Args   []any
	Named  map[string]any
	names  []string // the keys of Named in their order
	caller any
}

func (a arguments) call(line int, s *state) *Call {
	e := s.step(line)
	e.charge(len(a.names))
	c := &Call{eval: e, Args: evaluateAll(e, a.values, s), names: a.names}
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
			e := s.step(line)
			requireDefined(e, callee)
			e.fail("'%s' object is not callable", typeName(callee))
		}
		c := args.call(line, s)
		if caller, ok := s.vars.names[callerName]; ok {
			c.caller = caller
		}
		return function(c)
	}
}
