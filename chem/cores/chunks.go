package cores

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

const (
	// maxUnslotted is the upper bound of the weight of a batch that takes no slot.
	maxUnslotted = 16
	// maxChunk is the upper bound of the weight of a chunk with several items. It bounds the time that a batch
	// continues after its context ended.
	maxChunk = 64
	// chunksPerCore is the number of chunks per core, so that one slow chunk does not leave the other cores idle.
	chunksPerCore = 4
)

// Chunks splits the items 0 to n-1 into chunks and calls work for each chunk, on all cores. A chunk has the items from
// to to-1. If weight is nil, every item weighs 1. The first error of work ends the context of the other chunks and is
// returned; a panic is an error too.
func Chunks(
	ctx context.Context, n int, weight func(i int) int, work func(ctx context.Context, from, to int) error,
) error {
	if weight == nil {
		weight = func(int) int { return 1 }
	}
	total := 0
	for i := range n {
		total += weight(i)
	}
	if total <= maxUnslotted {
		if err := ctx.Err(); err != nil {
			return err
		}
		return cmp.Or(guard(func() error { return work(ctx, 0, n) }), ctx.Err())
	}
	chunks := chunksPerCore * runtime.GOMAXPROCS(0)
	size := min(maxChunk, (total+chunks-1)/chunks)
	_, err := Yield(ctx, func() (struct{}, error) {
		group, groupCtx := errgroup.WithContext(ctx)
		for from, to := range cut(n, weight, size) {
			s := &slot{}
			if s.acquire(groupCtx) != nil {
				break
			}
			group.Go(func() error {
				defer s.release()
				return guard(func() error { return work(s.in(groupCtx), from, to) })
			})
		}
		return struct{}{}, cmp.Or(group.Wait(), ctx.Err())
	})
	return err
}

// Map returns item(0) to item(n-1), computed on all cores. Every item weighs 1. The errors are those of [Chunks].
func Map[T any](ctx context.Context, n int, item func(i int) (T, error)) ([]T, error) {
	items := make([]T, n)
	err := Chunks(ctx, n, nil, func(ctx context.Context, from, to int) (err error) {
		for i := from; i < to && err == nil; i++ {
			if err = ctx.Err(); err == nil {
				items[i], err = item(i)
			}
		}
		return err
	})
	return items, err
}

// cut yields the bounds of consecutive chunks of the items 0 to n-1. A chunk weighs at most size, or has one item.
func cut(n int, weight func(i int) int, size int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from := 0
		chunk := 0
		for i := range n {
			w := weight(i)
			if chunk > 0 && chunk+w > size {
				if !yield(from, i) {
					return
				}
				from = i
				chunk = 0
			}
			chunk += w
		}
		yield(from, n)
	}
}

// guard converts a panic of work to an error, because in a goroutine it would end the process.
func guard(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work()
}
