package template

import (
	"slices"
)

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
