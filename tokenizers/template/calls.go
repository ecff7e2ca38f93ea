package template

import (
	"strings"
)

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

// parameters are those of a macro.
type parameters struct {
	names    []string
	defaults []expression // nil for a parameter without one
}

func (p *parser) parameters() (ps parameters) {
	p.expect(operator, "(")
	for !p.is(operator, ")") {
		if len(ps.names) > 0 {
			p.expect(operator, ",")
		}
		ps.names = append(ps.names, p.expect(name, "").value)
		var value expression
		if p.skip(operator, "=") {
			value = p.expression()
		}
		ps.defaults = append(ps.defaults, value)
	}
	p.next()
	return ps
}

func (p *parser) macro() statement {
	called := p.expect(name, "").value
	ps := p.parameters()
	loops := p.loops
	p.loops = 0
	body := p.rest("endmacro")
	p.loops = loops
	return func(s *state) signal {
		s.vars.names[called] = ps.function(called, body, s)
		return done
	}
}

// function is a macro: what its body writes, with the arguments as names.
func (ps parameters) function(called string, body []statement, s *state) Function {
	return func(c *Call) any {
		c.enter()
		defer c.leave()
		var out strings.Builder
		inner := s.inner(&out)
		names := inner.vars.names
		if c.caller != nil {
			names["caller"] = c.caller
		}
		for i, parameter := range ps.names {
			value, named := c.Named[parameter]
			switch {
			case i < len(c.Args):
				names[parameter] = c.Args[i]
			case named:
				names[parameter] = value
			case ps.defaults[i] != nil:
				names[parameter] = ps.defaults[i](inner)
			default:
				names[parameter] = Undefined{"parameter '" + parameter + "' was not provided"}
			}
		}
		more := c.Args[min(len(ps.names), len(c.Args)):]
		names["varargs"] = Tuple(more)
		execute(body, inner)
		return out.String()
	}
}

// callBlock is {% call macro(…) %}: its body is the macro's caller().
func (p *parser) callBlock(line int) statement {
	var ps parameters
	if p.is(operator, "(") {
		ps = p.parameters()
	}
	call := p.expression()
	body := p.rest("endcall")
	return func(s *state) signal {
		inner := s.inner(s.out)
		inner.vars.names[callerName] = ps.function("caller", body, s)
		e := s.step(line)
		s.write(line, str(e, call(inner)))
		return done
	}
}

// callerName is where a call block leaves its body for the call; no template can write this name.
const callerName = " caller"
