package encoder

import (
	"context"
	"errors"
	"runtime"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// rowsAtOnce is how many rows one goroutine tokenizes before it looks whether the client has left.
const rowsAtOnce = 64

// Tokenize makes n rows, on all cores when there are many. row makes one; path is the field of the body that a row came
// of. A row that is too long is refused as TooLong words it.
func Tokenize(ctx context.Context, n int, path func(i int) []any, row func(i int) (*tokenizers.Encoding, error)) ([]*tokenizers.Encoding, error) {
	rows := make([]*tokenizers.Encoding, n)
	some := func(ctx context.Context, from, to int) error {
		for i := from; i < to; i++ {
			made, err := row(i)
			if err != nil {
				return refusal(err, path(i))
			}
			rows[i] = made
		}
		return ctx.Err()
	}
	if n <= rowsAtOnce {
		return rows, some(ctx, 0, n)
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < n; from += rowsAtOnce {
		work.Go(fault.Guard(func() error { return some(ctx, from, min(from+rowsAtOnce, n)) }))
	}
	return rows, work.Wait()
}

func refusal(err error, path []any) error {
	var long *tokenizers.LengthError
	if errors.As(err, &long) {
		return TooLong(long, path...)
	}
	return fault.Wrap(fault.Invalid, err, "Input could not be tokenized").Under(path...)
}
