package template

import (
	"errors"
	"strconv"
	"strings"
)

func constant(v any) expression { return func(*state) any { return v } }

// primary reads a name, a literal, or an expression in brackets.
func (p *parser) primary() expression {
	t := p.next()
	switch t.kind {
	case nameToken:
		return p.nameOrConstant(t)
	case stringToken:
		values := []string{t.value}
		for p.peek().kind == stringToken {
			values = append(values, p.next().value)
		}
		return constant(strings.Join(values, ""))
	case integerToken, floatToken:
		return numberLiteral(t)
	case operatorToken:
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

func (p *parser) nameOrConstant(t token) expression {
	switch t.value {
	case "true", "True":
		return constant(true)
	case "false", "False":
		return constant(false)
	case "none", "None":
		return constant(nil)
	}
	return func(s *state) any {
		if v, ok := s.scope.find(t.value); ok {
			return v
		}
		if v, ok := globals[t.value]; ok {
			return v
		}
		return undefined{"'" + t.value + "' is undefined"}
	}
}

func numberLiteral(t token) expression {
	digits := strings.ReplaceAll(t.value, "_", "")
	if t.kind == integerToken {
		n, err := strconv.Atoi(digits)
		if err != nil {
			fail(t.line, "integer overflow: %s is beyond 64 bits", t.value)
		}
		return constant(n)
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // Python reads a number that is too large as infinity
		fail(t.line, "invalid number %s", t)
	}
	return constant(f)
}

func (p *parser) parenthesis() expression {
	if p.accept(")") {
		return constant(tuple{})
	}
	value := p.tuple()
	p.expect(")")
	return value
}

// commaSeparated reads items up to a closing bracket, which it reads too. A comma may follow the last.
func (p *parser) commaSeparated(closing string, item func()) {
	for first := true; !p.accept(closing); first = false {
		if !first {
			p.expect(",")
			if p.accept(closing) {
				return
			}
		}
		item()
	}
}

func (p *parser) listLiteral(line int) expression {
	var items []expression
	p.commaSeparated("]", func() { items = append(items, p.expression()) })
	return func(s *state) any { return evaluateAll(s.step(line), items, s) }
}

func (p *parser) dictLiteral(line int) expression {
	var keys, values []expression
	p.commaSeparated("}", func() {
		keys = append(keys, p.expression())
		p.expect(":")
		values = append(values, p.expression())
	})
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

// postfix reads the .name, [index] and (arguments) that follow a value.
func (p *parser) postfix(value expression) expression {
	for {
		t := p.peek()
		switch {
		case p.accept("."):
			value = p.attribute(value)
		case p.accept("["):
			value = p.subscript(value, t.line)
		case p.peekIs("("):
			value = p.call(value)
		default:
			return value
		}
	}
}

func (p *parser) attribute(of expression) expression {
	t := p.next()
	switch t.kind {
	case nameToken:
		return func(s *state) any {
			e := s.step(t.line)
			return attribute(e, of(s), t.value)
		}
	case integerToken:
		if n, err := strconv.Atoi(t.value); err == nil {
			return func(s *state) any {
				e := s.step(t.line)
				return item(e, of(s), n)
			}
		}
	}
	fail(t.line, "expected name or number, got %s", t)
	return nil
}

// subscript reads [key] or [start:stop:step].
func (p *parser) subscript(of expression, line int) expression {
	var bounds [3]expression
	slice := false
	for i := 0; i < 3 && !p.peekIs("]"); i++ {
		if !p.peekIs(":") {
			bounds[i] = p.expression()
		}
		if !p.accept(":") {
			break
		}
		slice = true
	}
	p.expect("]")
	if !slice {
		key := bounds[0]
		if key == nil {
			fail(line, "expected an index")
		}
		return func(s *state) any {
			e := s.step(line)
			return item(e, of(s), key(s))
		}
	}
	return func(s *state) any {
		e := s.step(line)
		value := of(s)
		var at [3]any
		for i, bound := range bounds {
			if bound != nil {
				at[i] = bound(s)
			}
		}
		return sliceValue(e, value, at[0], at[1], at[2])
	}
}

// filtersAndTests reads the "| filter" and "is test" that follow a value.
func (p *parser) filtersAndTests(value expression) expression {
	for {
		switch {
		case p.accept("|"):
			inner := value
			filter := p.filter()
			value = func(s *state) any { return filter(s, inner(s)) }
		case p.accept("is"):
			value = p.test(value)
		case p.peekIs("("):
			value = p.call(value)
		default:
			return value
		}
	}
}

// filterChain reads any number of "| filter".
func (p *parser) filterChain() func(*state, any) any {
	chain := func(_ *state, v any) any { return v }
	for p.accept("|") {
		inner := chain
		filter := p.filter()
		chain = func(s *state, v any) any { return filter(s, inner(s, v)) }
	}
	return chain
}

// filter reads the name and the arguments that follow a "|".
func (p *parser) filter() func(*state, any) any {
	t := p.expectKind(nameToken)
	apply, known := filters[t.value]
	if !known {
		fail(t.line, "No filter named %s.", t)
	}
	var args arguments
	if p.peekIs("(") {
		args = p.arguments()
	}
	return func(s *state, v any) any { return apply(args.evaluate(t.line, s), v) }
}

// test reads the test that follows "is". A single argument needs no brackets.
func (p *parser) test(value expression) expression {
	negated := p.accept("not")
	t := p.expectKind(nameToken)
	apply, known := tests[t.value]
	if !known {
		fail(t.line, "No test named %s.", t)
	}
	var args arguments
	switch next := p.peek(); {
	case p.peekIs("("):
		args = p.arguments()
	case next.kind == stringToken || next.kind == integerToken || next.kind == floatToken,
		next.is("["), next.is("{"),
		next.kind == nameToken && !endsTest[next.value]:
		args.values = []expression{p.postfix(p.primary())}
	}
	return func(s *state) any { return apply(args.evaluate(t.line, s), value(s)) != negated }
}

// endsTest has the names that cannot be an argument of a test.
var endsTest = map[string]bool{
	"else": true, "or": true, "and": true, "if": true, "is": true, "not": true, "in": true, "recursive": true,
}
