package fault

// Join returns one error that carries every given one, nils left out, in
// order: the first is what a door that shows one problem shows, All has the
// rest. It returns nil when nothing is left.
func Join(errs ...*Error) error {
	var first *Error
	for _, e := range errs {
		switch {
		case e == nil:
		case first == nil:
			head := *e
			first = &head
		default:
			first.more = append(first.more, e.All()...)
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
