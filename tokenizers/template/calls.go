package template

import "strings"

// arguments are the parsed arguments of a call, a filter or a test.
type arguments struct {
	values []expression
	names  []string
	named  []expression
}

func (p *parser) arguments() (a arguments) {
	p.expect("(")
	p.commaSeparated(")", func() {
		if t := p.peek(); t.kind == nameToken && p.tokens[p.at+1].is("=") {
			p.at += 2
			a.names = append(a.names, t.value)
			a.named = append(a.named, p.expression())
			return
		}
		a.values = append(a.values, p.expression())
	})
	return a
}

// call is one call of a function, filter, test or method, with its evaluated arguments.
type call struct {
	evaluation
	args   []any
	named  map[string]any
	names  []string // the keys of named, in the order of the call
	caller any      // the body of the call block around this call
}

func (a arguments) evaluate(line int, s *state) *call {
	e := s.step(line)
	e.charge(len(a.names))
	c := &call{evaluation: e, args: evaluateAll(e, a.values, s), names: a.names}
	for i, name := range a.names {
		if c.named == nil {
			c.named = map[string]any{}
		}
		c.named[name] = a.named[i](s)
	}
	return c
}

// argument returns the argument at position i or called name, or otherwise if neither is there.
func (c *call) argument(i int, name string, otherwise any) any {
	if i < len(c.args) {
		return c.args[i]
	}
	if v, ok := c.named[name]; ok {
		return v
	}
	return otherwise
}

func (p *parser) call(of expression) expression {
	line := p.peek().line
	args := p.arguments()
	return func(s *state) any {
		callee := of(s)
		if loop, ok := callee.(*loopState); ok && loop.recurse != nil {
			return loop.recurse(args.evaluate(line, s).argument(0, "iterable", nil))
		}
		function, ok := callee.(function)
		if !ok {
			e := s.step(line)
			requireDefined(e, callee)
			e.fail("'%s' object is not callable", typeName(callee))
		}
		c := args.evaluate(line, s)
		if caller, ok := s.scope.names[callerName]; ok {
			c.caller = caller
		}
		return function(c)
	}
}

// parameters are the parameters of a macro.
type parameters struct {
	names    []string
	defaults []expression // nil for a parameter without one
}

func (p *parser) parameters() (ps parameters) {
	p.expect("(")
	for !p.peekIs(")") {
		if len(ps.names) > 0 {
			p.expect(",")
		}
		ps.names = append(ps.names, p.expectKind(nameToken).value)
		var value expression
		if p.accept("=") {
			value = p.expression()
		}
		ps.defaults = append(ps.defaults, value)
	}
	p.next()
	return ps
}

func (p *parser) macro() statement {
	macro := p.expectKind(nameToken).value
	ps := p.parameters()
	loops := p.loops
	p.loops = 0
	body := p.blockBody("endmacro")
	p.loops = loops
	return func(s *state) completion {
		s.scope.names[macro] = ps.function(body, s)
		return normal
	}
}

// function returns a macro: a function that returns what body writes, with the arguments as variables.
func (ps parameters) function(body []statement, s *state) function {
	return func(c *call) any {
		c.enter()
		defer c.leave()
		var out strings.Builder
		inner := s.inner(&out)
		names := inner.scope.names
		if c.caller != nil {
			names["caller"] = c.caller
		}
		for i, parameter := range ps.names {
			value, named := c.named[parameter]
			switch {
			case i < len(c.args):
				names[parameter] = c.args[i]
			case named:
				names[parameter] = value
			case ps.defaults[i] != nil:
				names[parameter] = ps.defaults[i](inner)
			default:
				names[parameter] = undefined{"parameter '" + parameter + "' was not provided"}
			}
		}
		names["varargs"] = tuple(c.args[min(len(ps.names), len(c.args)):])
		execute(body, inner)
		return out.String()
	}
}

// callBlock reads {% call macro(…) %}, whose body the macro renders with caller().
func (p *parser) callBlock(line int) statement {
	var ps parameters
	if p.peekIs("(") {
		ps = p.parameters()
	}
	call := p.expression()
	body := p.blockBody("endcall")
	return func(s *state) completion {
		inner := s.inner(s.out)
		inner.scope.names[callerName] = ps.function(body, s)
		e := s.step(line)
		s.write(line, str(e, call(inner)))
		return normal
	}
}

// callerName is the variable in which a call block passes its body to the call; no template can write this name.
const callerName = " caller"
