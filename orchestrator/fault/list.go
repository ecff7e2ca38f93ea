package fault

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
