package template

import "slices"

// expression reads an expression: "a if b else c", or one without a condition.
func (p *parser) expression() expression {
	value := p.or()
	for p.peekIs("if") {
		line := p.next().line
		then := value
		test := p.or()
		otherwise := constant(undefined{"the inline if-expression has no else section"})
		if p.accept("else") {
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

// tuple reads an expression, or a tuple without brackets.
func (p *parser) tuple() expression { return p.tupleOfItems(p.expression) }

func (p *parser) tupleOfItems(item func() expression) expression {
	first := item()
	if !p.peekIs(",") {
		return first
	}
	items := []expression{first}
	for p.accept(",") {
		t := p.peek()
		if t.kind == blockEnd || t.kind == variableEnd || p.peekIs(")") || p.peekIs("=") {
			break
		}
		items = append(items, item())
	}
	line := p.peek().line
	return func(s *state) any { return tuple(evaluateAll(s.step(line), items, s)) }
}

func evaluateAll(e evaluation, items []expression, s *state) []any {
	e.charge(len(items))
	values := make([]any, len(items))
	for i, item := range items {
		values[i] = item(s)
	}
	return values
}

func (p *parser) or() expression { return p.shortCircuit("or", p.and, true) }

func (p *parser) and() expression { return p.shortCircuit("and", p.not, false) }

// shortCircuit reads a chain of or, or of and, which ends at the first value whose truth decides the result.
func (p *parser) shortCircuit(word string, operand func() expression, decisive bool) expression {
	left := operand()
	for p.peekIs(word) {
		line := p.next().line
		a := left
		b := operand()
		left = func(s *state) any {
			s.step(line)
			if v := a(s); truth(v) == decisive {
				return v
			}
			return b(s)
		}
	}
	return left
}

func (p *parser) not() expression {
	if p.peekIs("not") {
		line := p.next().line
		v := p.not()
		return func(s *state) any {
			s.step(line)
			return !truth(v(s))
		}
	}
	return p.comparison()
}

// binary reads a left-associative chain of the operators ops.
func (p *parser) binary(operand func() expression, ops ...string) expression {
	left := operand()
	for {
		t := p.peek()
		if t.kind != operatorToken || !slices.Contains(ops, t.value) {
			return left
		}
		p.next()
		a := left
		b := operand()
		left = func(s *state) any {
			e := s.step(t.line)
			return arithmetic(e, t.value, a(s), b(s))
		}
	}
}

func (p *parser) sum() expression { return p.binary(p.concat, "+", "-") }

func (p *parser) concat() expression { return p.binary(p.product, "~") }

func (p *parser) product() expression { return p.binary(p.power, "*", "/", "//", "%") }

func (p *parser) power() expression {
	return p.binary(func() expression { return p.unary(true) }, "**")
}

// unary reads a signed value; with filtered, also the filters and tests after it.
func (p *parser) unary(filtered bool) expression {
	var value expression
	t := p.peek()
	if p.depth++; p.depth > maxDepth {
		fail(t.line, "the expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	if p.accept("-") || p.accept("+") {
		v := p.unary(false)
		value = func(s *state) any {
			e := s.step(t.line)
			return applySign(e, t.value, v(s))
		}
	} else {
		value = p.primary()
	}
	value = p.postfix(value)
	if filtered {
		return p.filtersAndTests(value)
	}
	return value
}

// comparisons are the operators that compare reads besides in and not in.
var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

// comparison reads a chain of comparisons: a < b < c means a < b and b < c.
func (p *parser) comparison() expression {
	first := p.sum()
	var ops []string
	var operands []expression // after the first
	line := p.peek().line
	for {
		t := p.peek()
		switch {
		case t.kind == operatorToken && slices.Contains(comparisons, t.value):
			p.next()
			ops = append(ops, t.value)
		case p.accept("in"):
			ops = append(ops, "in")
		case p.peekIs("not") && p.tokens[p.at+1].is("in"):
			p.at += 2
			ops = append(ops, "not in")
		case len(ops) == 0:
			return first
		default:
			return func(s *state) any {
				e := s.step(line)
				left := first(s)
				for i, op := range ops {
					right := operands[i](s)
					if !compare(e, op, left, right) {
						return false
					}
					left = right
				}
				return true
			}
		}
		operands = append(operands, p.sum())
	}
}
