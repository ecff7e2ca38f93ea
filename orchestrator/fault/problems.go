package fault

import "strings"

// MaxProblems is the most problems of one request that are reported, so that a body with a million wrong values gets a
// short answer and takes no memory for them.
const MaxProblems = 20

// Problems collects the first MaxProblems problems of one request. The zero value is ready for use.
type Problems struct{ found []*Error }

// Add records problems, except nil ones: their rules are kept.
func (p *Problems) Add(problems ...*Error) {
	for _, problem := range problems {
		if problem != nil && !p.Full() {
			p.found = append(p.found, problem)
		}
	}
}

// AddEach records the problems of n rows in order and stops when p is full.
func (p *Problems) AddEach(n int, check func(i int) *Error) {
	for i := 0; i < n && !p.Full(); i++ {
		p.Add(check(i))
	}
}

// Full reports whether p records no more problems.
func (p *Problems) Full() bool { return len(p.found) >= MaxProblems }

// Len returns the number of recorded problems.
func (p *Problems) Len() int { return len(p.found) }

// Err returns the recorded problems as one error (see Join), or nil if there are none.
func (p *Problems) Err() error { return Join(p.found...) }

// Join returns the first of errs, which carries the others: see All. It keeps at most MaxProblems and ignores nils. It
// returns nil if all are nil.
func Join(errs ...*Error) error {
	var first *Error
	for _, e := range errs {
		switch {
		case e == nil:
		case first == nil:
			head := *e
			first = &head
		default:
			room := max(0, MaxProblems-1-len(first.more))
			all := e.All()
			first.more = append(first.more, all[:min(len(all), room)]...)
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// All returns e and the errors that Join has added to it, in order.
func (e *Error) All() []*Error {
	return append([]*Error{e}, e.more...)
}

// Summary returns the messages of All in one line, each after its field if it breaks a rule.
func (e *Error) Summary() string {
	var texts []string
	for _, problem := range e.All() {
		text := problem.Message
		if field := problem.Field(); field != "" && problem.Rule != "" {
			text = field + ": " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
