package fault

import "strings"

// Join returns one error that carries the given ones in order, nils left out and MaxProblems at most: the first is what
// an API that shows one problem shows, All has the rest. It returns nil when nothing is left.
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

// All returns e and every error joined behind it, in order.
func (e *Error) All() []*Error {
	return append([]*Error{e}, e.more...)
}

// Summary is every problem that e carries in one text, each with its field where a rule of the body's form is broken.
func (e *Error) Summary() string {
	var texts []string
	for _, one := range e.All() {
		text := one.Message
		if field := one.Field(); field != "" && one.Rule != "" {
			text = field + ": " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
