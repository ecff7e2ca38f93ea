package fault

import (
	"errors"
	"runtime/debug"
)

// Guard returns f with its panics turned into Internal errors that carry the stack. The work of a request that runs in
// goroutines of its own needs it: a panic there has no caller to contain it and would end the process, and an errgroup
// contains none.
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
