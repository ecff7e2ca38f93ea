package search

import (
	"context"
	"runtime"
)

// processors limits the searches and paths that compute at the same time, over all requests, to the number of cores.
// Without it a short request would compete with hundreds of them.
var processors = make(chan struct{}, runtime.GOMAXPROCS(0))

// processor is a search's place among those that compute. It is for the goroutine of that search.
type processor struct{ held bool }

type processorKey struct{}

// compute runs a search on a processor, which it holds except within [Wait].
func compute[Result any](ctx context.Context, search func(context.Context) (Result, error)) (result Result, err error) {
	p := &processor{}
	if err := p.acquire(ctx); err != nil {
		return result, err
	}
	defer p.release()
	return search(context.WithValue(ctx, processorKey{}, p))
}

// Wait runs f, which waits for something outside of the process, without the processor that the search of ctx holds.
// After an error the search, which is about to end, does without.
// Outside of a search it just runs f.
func Wait[Result any](ctx context.Context, f func() (Result, error)) (Result, error) {
	p, searching := ctx.Value(processorKey{}).(*processor)
	if !searching {
		return f()
	}
	p.release()
	result, err := f()
	if err == nil {
		err = p.acquire(ctx)
	}
	return result, err
}

func (p *processor) acquire(ctx context.Context) error {
	select {
	case processors <- struct{}{}:
		p.held = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *processor) release() {
	if p.held {
		p.held = false
		<-processors
	}
}

// remote is a model whose calls are waited for without a processor.
type remote struct{ Model }

func (r remote) Encode(ctx context.Context, rows [][]int32) ([][]float32, error) {
	return Wait(ctx, func() ([][]float32, error) { return r.Model.Encode(ctx, rows) })
}

func (r remote) Decode(ctx context.Context, points []Point) ([]string, error) {
	return Wait(ctx, func() ([]string, error) { return r.Model.Decode(ctx, points) })
}
