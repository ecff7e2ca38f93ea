package masked

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
)

// inParallel makes n items on all cores. It ends with the first error, or soon after ctx has ended.
func inParallel[T any](ctx context.Context, n int, item func(i int) (T, error)) ([]T, error) {
	const chunk = 16
	items := make([]T, n)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < n; lo += chunk {
		work.Go(fault.Guard(func() error {
			for i := lo; i < min(lo+chunk, n); i++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				made, err := item(i)
				if err != nil {
					return err
				}
				items[i] = made
			}
			return nil
		}))
	}
	return items, work.Wait()
}
