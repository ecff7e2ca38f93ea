// Package cores shares the processor cores among the CPU-bound work of the process, so that many callers at once wait
// for each other here and not in the scheduler, where they would take the cores from everything else.
//
// There is one slot per core (GOMAXPROCS when the process starts). Work of two shapes takes slots:
//
//   - [Run] is for one long task, such as a search: it holds a slot from start to end, except within [Yield].
//   - [Chunks] and [Map] are for many short items: the items are cut into chunks of similar weight, and each chunk waits
//     for a slot of its own. Callers take turns: each has one chunk in the queue at a time. A batch of at most 16 in
//     weight takes no slot and runs in the caller's goroutine: it takes a moment, and must not wait behind long ones.
//
// Nested use does not deadlock: the slot is in the context that the task or chunk receives, and a nested Chunks or Map
// that needs slots gives it back first and takes one again afterwards (it is a Yield), while a nested Run uses it. That
// context is therefore for one goroutine at a time; a task that starts goroutines does so through Chunks or Map.
//
// All functions return early, with the context's error, once ctx has ended: waiting ends at once, work where it looks
// at ctx and at the latest at the end of a chunk.
//
// Terms:
//
//   - slot: the right to compute on one core
//   - weight: the estimated work of an item, in the unit of reading one molecule (0.1 to 1 ms)
package cores

import (
	"context"
	"runtime"
)

// slots has one element per slot in use.
var slots = make(chan struct{}, runtime.GOMAXPROCS(0))

// slot is what a task or chunk holds of slots. It is for one goroutine.
type slot struct{ held bool }

type slotKey struct{}

// Run waits for a slot and runs task with it.
func Run[Result any](ctx context.Context, task func(context.Context) (Result, error)) (result Result, err error) {
	if heldBy(ctx) != nil {
		return task(ctx)
	}
	s := &slot{}
	if err := s.acquire(ctx); err != nil {
		return result, err
	}
	defer s.release()
	return task(s.in(ctx))
}

// Yield runs f, which waits for something outside of the process, without the slot of ctx, and waits for a slot again
// before it returns. After an error of f it does not: the task is about to end. Without a slot it just runs f.
func Yield[Result any](ctx context.Context, f func() (Result, error)) (Result, error) {
	s := heldBy(ctx)
	if s == nil {
		return f()
	}
	s.release()
	result, err := f()
	if err == nil {
		err = s.acquire(ctx)
	}
	return result, err
}

// heldBy returns the slot that the task or chunk of ctx holds, or nil.
func heldBy(ctx context.Context) *slot {
	if s, ok := ctx.Value(slotKey{}).(*slot); ok && s.held {
		return s
	}
	return nil
}

func (s *slot) in(ctx context.Context) context.Context { return context.WithValue(ctx, slotKey{}, s) }

func (s *slot) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case slots <- struct{}{}:
		s.held = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slot) release() {
	if s.held {
		s.held = false
		<-slots
	}
}
