package triton

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
)

// BatchOptions bound what a Batcher sends. Zero values are the defaults said.
type BatchOptions struct {
	// MaxRows is the most rows of a call: the model's MaxBatch. Default 32.
	MaxRows int
	// MaxTokens is the most padded tokens of a call, that is its rows times the
	// longest of them: about 512 suit a CPU, thousands a GPU. A longer row goes
	// alone. Default 512.
	MaxTokens int
	// CallTokens is what one more call costs, in padded tokens. Rows join only
	// while that adds less padding. Default MaxTokens/32.
	CallTokens int
	// Concurrency is how many calls are in flight: the instances of the model
	// on all replicas; one more hides the way there and back. Default 2.
	Concurrency int
	// MaxWaiting is how many rows may wait. A request of any size is taken when
	// nothing waits. Default 4096.
	MaxWaiting int
	// Observe is told of every call, from the call's own goroutine.
	Observe func(Batch)
}

func (o BatchOptions) withDefaults() BatchOptions {
	setDefault(&o.MaxRows, 32)
	setDefault(&o.MaxTokens, 512)
	setDefault(&o.CallTokens, max(8, o.MaxTokens/32))
	setDefault(&o.Concurrency, 2)
	setDefault(&o.MaxWaiting, 4096)
	return o
}

// Batch is what one call was made of, for metrics.
type Batch struct {
	Rows, Requests int
	// Tokens are without padding, Padded with it.
	Tokens, Padded int
	// Waited is how long its first row did, Took how long the call did.
	Waited, Took time.Duration
	Err          error
}

// Batcher joins the rows of all requests to calls of similar length, since a
// call costs as much as its longest row times their number: sorted by length
// and cut by padded tokens, the throughput on mixed lengths is three times that
// of arrival order. A row's result must not depend on the rows beside it.
//
// When a call may start, it starts: a lone request waits for nothing, and rows
// gather only while all calls allowed are in flight. Requests take turns: each
// call is made around the longest waiting row of the request whose turn it is,
// so a short request does not wait behind a long one, and none starves.
type Batcher[Row, Result any] struct {
	length  func(Row) int
	run     func(context.Context, []Row) ([]Result, error)
	options BatchOptions

	mu      sync.Mutex
	queue   queue[Row, Result]
	turns   []*batched[Row, Result] // requests with waiting rows, next turn first
	running int
	perRow  time.Duration // what a row has taken of late, see retryAfter
}

// NewBatcher returns a batcher. length is the number of tokens of a row. run
// makes one call and returns a result per row, in order; its context ends when
// none of the requests in it is waited for any longer, and carries the trace of
// the request that led to the call. The time it takes is counted as each
// request's time with Triton by the batcher, so run need not.
func NewBatcher[Row, Result any](length func(Row) int, run func(context.Context, []Row) ([]Result, error), options BatchOptions) *Batcher[Row, Result] {
	return &Batcher[Row, Result]{length: length, run: run, options: options.withDefaults()}
}

// Do returns a result for each row, in order, or the error of the first call
// that failed with a row of this request in it. Too many waiting rows are
// Overloaded. It adds the time until then to the request of ctx.
func (b *Batcher[Row, Result]) Do(ctx context.Context, rows []Row) ([]Result, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.As(err)
	}
	start := time.Now()
	defer func() { telemetry.FromContext(ctx).AddTriton(time.Since(start)) }()
	r := newBatched[Row, Result](ctx, rows, b.length, start)
	if err := b.submit(r); err != nil {
		return nil, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		b.mu.Lock()
		b.fail(r, fault.As(ctx.Err()))
		b.mu.Unlock()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.results, nil
}

// submit queues the rows and starts what may start.
func (b *Batcher[Row, Result]) submit(r *batched[Row, Result]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.queue.items); n > 0 && n+r.left > b.options.MaxWaiting {
		return &fault.Error{Kind: fault.Overloaded, Message: "too many inputs are waiting", RetryAfter: b.retryAfter()}
	}
	b.queue.add(r.waiting)
	b.turns = append(b.turns, r)
	b.start()
	return nil
}

// retryAfter estimates when what waits now is done, in whole seconds.
func (b *Batcher[Row, Result]) retryAfter() time.Duration {
	estimate := b.perRow * time.Duration(len(b.queue.items)/b.options.Concurrency)
	return min(max(estimate.Round(time.Second), time.Second), 30*time.Second)
}

// start makes calls until no more may be in flight or nothing waits.
func (b *Batcher[Row, Result]) start() {
	for b.running < b.options.Concurrency && len(b.turns) > 0 {
		r := b.turns[0]
		b.turns = b.turns[1:]
		seed := r.longest()
		if seed == nil {
			continue // others took its rows along
		}
		b.turns = append(b.turns, r)
		b.running++
		c := newCall(b.queue.take(seed, b.options), seed)
		go b.call(c)
	}
}

// call makes one call and hands its results out. When a call that served
// several requests fails by what was in it, each of them gets one of its own,
// so that one request's rows cannot fail another's.
func (b *Batcher[Row, Result]) call(c *call[Row, Result]) {
	defer c.cancel()
	results, err := b.observed(c)
	took := time.Since(c.started)
	if err != nil && len(c.members) > 1 && !outside(err) {
		for _, part := range c.parts() {
			results, err := b.observed(part)
			b.mu.Lock()
			b.deliver(c, part.items, results, err)
			b.mu.Unlock()
		}
	} else {
		b.mu.Lock()
		b.deliver(c, c.items, results, err)
		b.mu.Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.perRow += (took/time.Duration(len(c.items)) - b.perRow) / 8
	b.running--
	b.start()
}

// outside reports whether a call failed by its surroundings, so that the same
// rows would fail again now.
func outside(err error) bool {
	kind := fault.KindOf(err)
	return kind != fault.Internal && kind != fault.Invalid
}

// observed runs one call and tells the observer.
func (b *Batcher[Row, Result]) observed(c *call[Row, Result]) ([]Result, error) {
	c.started = time.Now()
	results, err := b.contained(c)
	if b.options.Observe != nil {
		b.options.Observe(c.summary(err))
	}
	return results, err
}

// contained turns a panic of run, which has no caller to contain it, and a
// wrong number of results into errors.
func (b *Batcher[Row, Result]) contained(c *call[Row, Result]) (results []Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "a batch panicked: %v\n%s", p, debug.Stack())
		}
	}()
	results, err = b.run(c.ctx, c.rows())
	if err == nil && len(results) != len(c.items) {
		err = fault.New(fault.Internal, "%d results for %d rows", len(results), len(c.items))
	}
	return results, err
}

// deliver gives items of a call their results, or their requests the error.
func (b *Batcher[Row, Result]) deliver(c *call[Row, Result], items []*item[Row, Result], results []Result, err error) {
	for i, it := range items {
		r := it.request
		delete(r.calls, c)
		switch {
		case r.over:
		case err != nil:
			b.fail(r, err)
		default:
			r.results[it.index] = results[i]
			if r.left--; r.left == 0 {
				r.end(nil)
			}
		}
	}
}

// fail ends a request: its waiting rows leave the queue, and calls that nobody
// else waits for are cancelled.
func (b *Batcher[Row, Result]) fail(r *batched[Row, Result], err error) {
	if r.over {
		return
	}
	b.queue.remove(r)
	r.waiting = nil
	for c := range r.calls {
		if c.alive--; c.alive == 0 {
			c.cancel()
		}
	}
	r.end(err)
}
