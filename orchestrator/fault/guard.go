package fault

import (
	"errors"
	"runtime/debug"
)

// Guard wraps f so that a panic becomes an Internal error with the stack. Goroutines that a request starts need it: the
// gateway contains only the panics of its handlers, errgroup contains none, and any other ends the process.
func Guard(f func() error) func() error {
	return func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = Wrap(Internal, errors.New(string(debug.Stack())), "panic: %v", p)
			}
		}()
		return f()
	}
}
