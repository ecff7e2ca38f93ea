package template

import "slices"

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
