package masked

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// spread makes n items on all cores and stops soon after ctx has ended.
func spread[T any](ctx context.Context, n int, item func(i int) (T, error)) ([]T, error) {
	const chunk = 16
	items := make([]T, n)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < n; lo += chunk {
		work.Go(func() (err error) {
			for i := lo; i < min(lo+chunk, n) && err == nil; i++ {
				if err = ctx.Err(); err == nil {
					items[i], err = item(i)
				}
			}
			return err
		})
	}
	return items, work.Wait()
}
