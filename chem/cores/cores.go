// Package cores shares the processor cores among the CPU-bound work of the process. Concurrent callers wait for each
// other here and not in the scheduler, where they would take the cores from all other goroutines.
//
// There is one slot per core (GOMAXPROCS at the start of the process). Two kinds of work take slots:
//
//   - [Run] runs one long task, such as a search. It holds a slot from start to end, except within [Yield].
//   - [Chunks] and [Map] process many short items in chunks of similar weight. Each chunk waits for a slot of its own.
//     Each caller has one chunk at a time in the queue, so callers take turns. A batch with a weight of at most 16
//     takes no slot and runs in the caller's goroutine: it is short and must not wait for long ones.
//
// Nested use does not deadlock. The slot is in the context that a task or chunk receives. A nested Chunks or Map that
// needs slots is a Yield: it releases the slot and acquires one again afterwards. A nested Run uses the slot. Such a
// context must therefore be used by one goroutine at a time; a task starts goroutines through Chunks or Map.
//
// All functions return the error of the context soon after it ends: immediately while they wait, otherwise when the
// work checks the context, at the latest at the end of a chunk.
//
// Terms:
//
//   - slot: the right to compute on one core
//   - weight: the estimated work of an item, in units of parsing one molecule (0.1 to 1 ms)
package cores

import (
	"context"
	"runtime"
)

// slots has one element per slot in use.
var slots = make(chan struct{}, runtime.GOMAXPROCS(0))

// slot is the slot of a task or chunk. One goroutine uses it.
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

// Yield releases the slot of ctx, runs f, which waits for something outside of the process, and acquires a slot again.
// After an error of f it acquires none, because the task is about to end. Without a slot in ctx it only runs f.
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

// heldBy returns the slot of the task or chunk of ctx, or nil if it holds none.
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
