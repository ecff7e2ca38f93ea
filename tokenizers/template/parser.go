package template

import (
	"slices"
	"strings"
)

// parser builds the closures that run a template from its tokens.
type parser struct {
	tokens []token
	at     int
	loops  int // the depth of for statements, within the current macro
	depth  int // of nested expressions
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != endOfTemplate {
		p.at++
	}
	return t
}

// peekIs reports whether the next token is a name or operator.
func (p *parser) peekIs(word string) bool { return p.peek().is(word) }

// accept reads the next token if it is a name or operator.
func (p *parser) accept(word string) bool {
	if p.peekIs(word) {
		p.at++
		return true
	}
	return false
}

// expect reads a name or operator; any other token is an error.
func (p *parser) expect(word string) {
	if t := p.next(); !t.is(word) {
		fail(t.line, "unexpected %s, expected '%s'", t, word)
	}
}

// expectKind reads a token of a kind; any other token is an error.
func (p *parser) expectKind(k kind) token {
	t := p.next()
	if t.kind != k {
		fail(t.line, "unexpected %s, expected %s", t, token{kind: k})
	}
	return t
}

func (p *parser) template() []statement {
	body := p.statementsUntil()
	if t := p.peek(); t.kind != endOfTemplate {
		fail(t.line, "unexpected %s", t)
	}
	return body
}

// statementsUntil reads statements up to a block whose name is in ends, or without ends up to the end of the template.
// The name of the block is the next token.
func (p *parser) statementsUntil(ends ...string) (body []statement) {
	for {
		t := p.next()
		switch t.kind {
		case endOfTemplate:
			if len(ends) > 0 {
				fail(t.line, "unexpected end of template, expected %s", strings.Join(ends, " or "))
			}
			return body
		case dataToken:
			body = append(body, func(s *state) completion {
				s.write(t.line, t.value)
				return normal
			})
		case variableBegin:
			value := p.tuple()
			p.expectKind(variableEnd)
			body = append(body, func(s *state) completion {
				e := s.step(t.line)
				s.write(t.line, str(e, value(s)))
				return normal
			})
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

// blockBody reads the end of a block's first tag, its body, and its last tag.
func (p *parser) blockBody(end string) []statement {
	p.expectKind(blockEnd)
	body := p.statementsUntil(end)
	p.next()
	p.expectKind(blockEnd)
	return body
}

func (p *parser) statement() statement {
	t := p.expectKind(nameToken)
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
		body := p.blockBody("endgeneration")
		return func(s *state) completion { return execute(body, s.inner(s.out)) }
	case "break", "continue":
		if p.loops == 0 {
			fail(t.line, "'%s' outside of a loop", t.value)
		}
		p.expectKind(blockEnd)
		c := breakLoop
		if t.value == "continue" {
			c = continueLoop
		}
		return func(*state) completion { return c }
	}
	fail(t.line, "Encountered unknown tag %s", t)
	return nil
}

func (p *parser) conditional(line int) statement {
	test := p.tuple()
	p.expectKind(blockEnd)
	then := p.statementsUntil("elif", "else", "endif")
	var otherwise []statement
	switch t := p.next(); t.value {
	case "elif":
		otherwise = []statement{p.conditional(t.line)}
	case "else":
		otherwise = p.blockBody("endif")
	default:
		p.expectKind(blockEnd)
	}
	return func(s *state) completion {
		s.step(line)
		if truth(test(s)) {
			return execute(then, s)
		}
		return execute(otherwise, s)
	}
}

// target reads the left side of an assignment: a name, or several for a value that is unpacked. With attributes, a name
// may be the attribute of a namespace.
func (p *parser) target(attributes bool) func(*state, any) {
	var targets []func(*state, any)
	bracketed := p.accept("(")
	several := false
	for {
		t := p.expectKind(nameToken)
		set := func(s *state, v any) { s.scope.names[t.value] = v }
		if attributes && p.accept(".") {
			attribute := p.expectKind(nameToken).value
			set = func(s *state, v any) {
				value, _ := s.scope.find(t.value)
				ns, ok := value.(*namespace)
				if !ok {
					fail(t.line, "cannot assign attribute on non-namespace object")
				}
				ns.names[attribute] = v
			}
		}
		targets = append(targets, set)
		if !p.accept(",") || p.peek().kind != nameToken || p.peekIs("in") {
			break
		}
		several = true
	}
	if bracketed {
		p.expect(")")
	}
	if !several {
		return targets[0]
	}
	line := p.peek().line
	return func(s *state, v any) {
		e := s.step(line)
		values := elements(e, v)
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
	if p.accept("=") {
		value := p.tuple()
		p.expectKind(blockEnd)
		return func(s *state) completion {
			s.step(line)
			set(s, value(s))
			return normal
		}
	}
	filter := p.filterChain()
	body := p.blockBody("endset")
	return func(s *state) completion {
		s.step(line)
		set(s, filter(s, capture(body, s)))
		return normal
	}
}

func (p *parser) filterBlock(line int) statement {
	first := p.filter()
	others := p.filterChain()
	body := p.blockBody("endfilter")
	return func(s *state) completion {
		e := s.step(line)
		s.write(line, str(e, others(s, first(s, capture(body, s)))))
		return normal
	}
}

// capture returns what body writes in a new scope.
func capture(body []statement, s *state) string {
	var out strings.Builder
	execute(body, s.inner(&out))
	return out.String()
}

func (p *parser) with() statement {
	var sets []func(outer, inner *state)
	for p.peek().kind != blockEnd {
		if len(sets) > 0 {
			p.expect(",")
		}
		set := p.target(false)
		p.expect("=")
		value := p.expression()
		sets = append(sets, func(outer, inner *state) { set(inner, value(outer)) })
	}
	body := p.blockBody("endwith")
	return func(s *state) completion {
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
	p.expect("in")
	f.items = p.tupleOfItems(p.or)
	if p.accept("if") {
		f.test = p.expression()
	}
	f.recursive = p.accept("recursive")
	p.expectKind(blockEnd)
	p.loops++
	f.body = p.statementsUntil("else", "endfor")
	p.loops--
	if p.next().value == "else" {
		f.otherwise = p.blockBody("endfor")
	} else {
		p.expectKind(blockEnd)
	}
	return func(s *state) completion {
		f.run(s, f.items(s), 1)
		return normal
	}
}

// loopStatement is a parsed for statement.
type loopStatement struct {
	line            int
	set             func(*state, any)
	items           expression
	test            expression // of the items to visit; nil for all
	recursive       bool
	body, otherwise []statement
}

// run visits the items of a value. depth counts recursive calls, from 1.
func (f *loopStatement) run(s *state, over any, depth int) {
	e := s.step(f.line)
	items := elements(e, over)
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
	loop := &loopState{items: items, depth: depth}
	if f.recursive {
		loop.recurse = func(over any) string {
			e.enter()
			defer e.leave()
			inner := func(s *state) completion {
				f.run(s, over, depth+1)
				return normal
			}
			return capture([]statement{inner}, s)
		}
	}
	for i, item := range items {
		s.step(f.line)
		loop.at = i
		inner := s.inner(s.out)
		inner.scope.names["loop"] = loop
		f.set(inner, item)
		if execute(f.body, inner) == breakLoop {
			return
		}
	}
}

// loopState is the variable loop inside a for statement.
type loopState struct {
	items   []any
	at      int
	depth   int
	changed []any            // the arguments of the last loop.changed(…)
	recurse func(any) string // renders the loop for another value; nil if the loop is not recursive
}

func (l *loopState) attribute(name string) any {
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
		return undefined{"there is no previous item"}
	case "nextitem":
		if l.at < n-1 {
			return l.items[l.at+1]
		}
		return undefined{"there is no next item"}
	case "cycle":
		return function(func(c *call) any {
			if len(c.args) == 0 {
				c.fail("no items for cycling given")
			}
			return c.args[l.at%len(c.args)]
		})
	case "changed":
		return function(func(c *call) any {
			same := l.changed != nil && equal(c.evaluation, l.changed, c.args)
			l.changed = c.args
			return !same
		})
	}
	return undefined{"'loop' has no attribute '" + name + "'"}
}

// enter and leave bound the depth of calls.
func (e evaluation) enter() {
	if e.rendering.depth++; e.rendering.depth > maxDepth {
		e.fail("calls are nested too deeply")
	}
}

func (e evaluation) leave() { e.rendering.depth-- }
