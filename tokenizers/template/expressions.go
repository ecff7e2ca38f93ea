package template

import (
	"slices"
)

// expression reads a value, with "a if b else c".
func (p *parser) expression() expression {
	value := p.or()
	for p.is(name, "if") {
		line := p.next().line
		then := value
		test := p.or()
		otherwise := expression(func(*state) any { return Undefined{"the inline if-expression has no else section"} })
		if p.skip(name, "else") {
			otherwise = p.expression()
		}
		value = func(s *state) any {
			s.step(line)
			if truth(test(s)) {
				return then(s)
			}
			return otherwise(s)
		}
	}
	return value
}

// tuple reads a value, or several with commas between: a tuple.
func (p *parser) tuple() expression { return p.tupleOf(p.expression) }

func (p *parser) tupleOf(one func() expression) expression {
	first := one()
	if !p.is(operator, ",") {
		return first
	}
	items := []expression{first}
	for p.skip(operator, ",") {
		if t := p.peek(); t.kind == blockEnd || t.kind == variableEnd || t.kind == operator && slices.Contains([]string{")", "="}, t.value) {
			break
		}
		items = append(items, one())
	}
	line := p.peek().line
	return func(s *state) any { return Tuple(evaluateAll(s.step(line), items, s)) }
}

func evaluateAll(e eval, items []expression, s *state) []any {
	e.charge(len(items))
	values := make([]any, len(items))
	for i, item := range items {
		values[i] = item(s)
	}
	return values
}

func (p *parser) or() expression {
	left := p.and()
	for p.is(name, "or") {
		line := p.next().line
		a := left
		b := p.and()
		left = func(s *state) any {
			s.step(line)
			if v := a(s); truth(v) {
				return v
			}
			return b(s)
		}
	}
	return left
}

func (p *parser) and() expression {
	left := p.not()
	for p.is(name, "and") {
		line := p.next().line
		a := left
		b := p.not()
		left = func(s *state) any {
			s.step(line)
			if v := a(s); !truth(v) {
				return v
			}
			return b(s)
		}
	}
	return left
}

func (p *parser) not() expression {
	if p.is(name, "not") {
		line := p.next().line
		v := p.not()
		return func(s *state) any { s.step(line); return !truth(v(s)) }
	}
	return p.comparison()
}

// binary reads operands of one level with operators between them.
func (p *parser) binary(operand func() expression, ops ...string) expression {
	left := operand()
	for {
		t := p.peek()
		if t.kind != operator || !slices.Contains(ops, t.value) {
			return left
		}
		p.next()
		a := left
		b := operand()
		left = func(s *state) any { e := s.step(t.line); return arithmetic(e, t.value, a(s), b(s)) }
	}
}

func (p *parser) sum() expression { return p.binary(p.concat, "+", "-") }

func (p *parser) concat() expression { return p.binary(p.product, "~") }

func (p *parser) product() expression { return p.binary(p.power, "*", "/", "//", "%") }

func (p *parser) power() expression {
	return p.binary(func() expression { return p.unary(true) }, "**")
}

func (p *parser) unary(filtered bool) expression {
	var value expression
	t := p.peek()
	if p.depth++; p.depth > mostDepth {
		fail(t.line, "the expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	switch {
	case p.skip(operator, "-"):
		v := p.unary(false)
		value = func(s *state) any { e := s.step(t.line); return applySign(e, "-", v(s)) }
	case p.skip(operator, "+"):
		v := p.unary(false)
		value = func(s *state) any { e := s.step(t.line); return applySign(e, "+", v(s)) }
	default:
		value = p.primary()
	}
	value = p.postfix(value)
	if filtered {
		return p.filtered(value)
	}
	return value
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

// comparison reads a chain: a < b < c is a < b and b < c.
func (p *parser) comparison() expression {
	first := p.sum()
	var ops []string
	var rest []expression
	line := p.peek().line
	for {
		t := p.peek()
		switch {
		case t.kind == operator && slices.Contains(comparisons, t.value):
			p.next()
			ops = append(ops, t.value)
		case p.skip(name, "in"):
			ops = append(ops, "in")
		case p.is(name, "not") && p.tokens[p.at+1] == (token{name, "in", p.tokens[p.at+1].line}):
			p.at += 2
			ops = append(ops, "not in")
		case len(ops) == 0:
			return first
		default:
			return func(s *state) any {
				e := s.step(line)
				left := first(s)
				for i, op := range ops {
					right := rest[i](s)
					if !compare(e, op, left, right) {
						return false
					}
					left = right
				}
				return true
			}
		}
		rest = append(rest, p.sum())
	}
}
