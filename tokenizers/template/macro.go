package template

import "strings"

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
