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
	// MaxRows is the largest number of rows in a batch: the model's MaxBatch. Default 32.
	MaxRows int
	// MaxTokens is the largest number of padded tokens in a batch, that is its rows times the longest of them: about
	// 512 suit a CPU, thousands a GPU. A longer row goes alone. Default 512.
	MaxTokens int
	// CallTokens is what one more call costs, in padded tokens. Rows join only while that adds less padding. Default
	// MaxTokens/32.
	CallTokens int
	// Concurrency is how many batches are in flight: the instances of the model on all replicas; one more hides the way
	// there and back. Default 2.
	Concurrency int
	// MaxWaiting is how many rows may wait, as a last bound on memory: the gateway bounds the requests. A request of
	// any size is taken when nothing waits. Default 2,097,152 (256 requests of 8,192 texts).
	MaxWaiting int
	// Observe is told of every batch, from the goroutine that sent it.
	Observe func(BatchStats)
}

func (o BatchOptions) withDefaults() BatchOptions {
	setDefault(&o.MaxRows, 32)
	setDefault(&o.MaxTokens, 512)
	setDefault(&o.CallTokens, max(8, o.MaxTokens/32))
	setDefault(&o.Concurrency, 2)
	setDefault(&o.MaxWaiting, 1<<21)
	return o
}

// BatchStats says what one batch was made of, for metrics.
type BatchStats struct {
	Rows, Requests int
	// Tokens are without padding, Padded with it.
	Tokens, Padded int
	// Waited is how long its first row did, Took how long the batch did.
	Waited, Took time.Duration
	Err          error
}

// Batcher joins the rows of all requests to batches of similar length, since a batch costs as much as its longest row
// times their number: sorted by length and cut by padded tokens, the throughput on mixed lengths is three times that of
// arrival order. A row's result must not depend on the rows beside it.
//
// When a batch may start, it starts: a lone request waits for nothing, and rows gather only while all batches allowed
// are in flight. Requests take turns (see next): each batch is made around the longest waiting row of the request whose
// turn it is.
type Batcher[Row, Result any] struct {
	length  func(Row) int
	run     func(context.Context, []Row) ([]Result, error)
	options BatchOptions

	mu      sync.Mutex
	queue   queue[Row, Result]
	waiting []*submission[Row, Result] // those with waiting rows, longest since their last turn first
	turns   uint64
	running int
	perRow  time.Duration // what a row has taken of late, see retryAfter
}

// NewBatcher returns a batcher. length is the number of tokens of a row. run sends one batch and returns a result per
// row, in order; its context ends when none of the requests in it is waited for any longer, and carries the trace of
// the request that led to the batch. The batcher counts the time it takes as each request's time with Triton, so run
// need not.
func NewBatcher[Row, Result any](length func(Row) int, run func(context.Context, []Row) ([]Result, error), options BatchOptions) *Batcher[Row, Result] {
	return &Batcher[Row, Result]{length: length, run: run, options: options.withDefaults()}
}

// Do returns a result for each row, in order, or the error of the first batch that failed with a row of this request in
// it. Too many waiting rows are Overloaded. What its rows spent in batches is added to the request of ctx as time with
// Triton, the rest as time in the queue.
func (b *Batcher[Row, Result]) Do(ctx context.Context, rows []Row) ([]Result, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.As(err)
	}
	start := time.Now()
	s := newSubmission[Row, Result](ctx, rows, b.length, start)
	if err := b.submit(s); err != nil {
		return nil, err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		b.mu.Lock()
		b.fail(s, fault.As(ctx.Err()))
		b.mu.Unlock()
	}
	request := telemetry.FromContext(ctx)
	request.AddTriton(s.inBatches)
	request.AddQueued(time.Since(start) - s.inBatches)
	if s.err != nil {
		return nil, s.err
	}
	return s.results, nil
}

// submit queues the rows and starts what may start.
func (b *Batcher[Row, Result]) submit(s *submission[Row, Result]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.queue.rows); n > 0 && n+s.left > b.options.MaxWaiting {
		return &fault.Error{Kind: fault.Overloaded, Message: "too many inputs are waiting", RetryAfter: b.retryAfter()}
	}
	b.queue.add(s.waiting)
	b.waiting = append(b.waiting, s)
	b.start()
	return nil
}

// retryAfter estimates when what waits now is done, in whole seconds.
func (b *Batcher[Row, Result]) retryAfter() time.Duration {
	estimate := b.perRow * time.Duration(len(b.queue.rows)/b.options.Concurrency)
	return min(max(estimate.Round(time.Second), time.Second), 30*time.Second)
}

// start sends batches until no more may be in flight or nothing waits.
func (b *Batcher[Row, Result]) start() {
	for b.running < b.options.Concurrency {
		s := b.next()
		if s == nil {
			return
		}
		seed := s.longest()
		b.running++
		go b.send(newBatch(b.queue.take(seed, b.options), seed))
	}
}

// send sends one batch and hands its results out. When a batch that served several requests fails by what was in it,
// each of them that is still waited for gets one of its own, so that one request's rows cannot fail another's.
func (b *Batcher[Row, Result]) send(batch *batch[Row, Result]) {
	defer batch.cancel()
	results, err := b.observed(batch)
	took := time.Since(batch.started)
	if err != nil && len(batch.members) > 1 && !outside(err) {
		for _, part := range batch.parts() {
			if b.over(part.members[0]) {
				continue
			}
			results, err := b.observed(part)
			b.deliver(batch, part.rows, results, err)
		}
	} else {
		b.deliver(batch, batch.rows, results, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.perRow += (took/time.Duration(len(batch.rows)) - b.perRow) / 8
	b.running--
	b.start()
}

func (b *Batcher[Row, Result]) over(s *submission[Row, Result]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.over
}

// outside reports whether a batch failed by its surroundings, so that the same rows would fail again now.
func outside(err error) bool {
	switch fault.KindOf(err) {
	case fault.Internal, fault.Rejected, fault.Invalid:
		return false
	}
	return true
}

// observed runs one batch and tells the observer.
func (b *Batcher[Row, Result]) observed(batch *batch[Row, Result]) ([]Result, error) {
	batch.started = time.Now()
	results, err := b.contained(batch)
	if b.options.Observe != nil {
		b.options.Observe(batch.stats(err))
	}
	return results, err
}

// contained turns a panic of run, which has no caller to contain it, and a wrong number of results into errors.
func (b *Batcher[Row, Result]) contained(batch *batch[Row, Result]) (results []Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "a batch panicked: %v\n%s", p, debug.Stack())
		}
	}()
	results, err = b.run(batch.ctx, batch.values())
	if err == nil && len(results) != len(batch.rows) {
		err = fault.New(fault.Internal, "%d results for %d rows", len(results), len(batch.rows))
	}
	return results, err
}

// deliver gives rows of a batch their results, or their requests the error.
func (b *Batcher[Row, Result]) deliver(from *batch[Row, Result], rows []*row[Row, Result], results []Result, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for i, r := range rows {
		s := r.submission
		s.leave(from, now)
		switch {
		case s.over:
		case err != nil:
			b.fail(s, err)
		default:
			s.results[r.index] = results[i]
			if s.left--; s.left == 0 {
				s.end(nil)
			}
		}
	}
}

// fail ends a request: its waiting rows leave the queue, and batches that nobody else waits for are cancelled.
func (b *Batcher[Row, Result]) fail(s *submission[Row, Result], err error) {
	if s.over {
		return
	}
	b.queue.remove(s)
	s.waiting = nil
	now := time.Now()
	for batch := range s.batches {
		s.leave(batch, now)
		if batch.alive--; batch.alive == 0 {
			batch.cancel()
		}
	}
	s.end(err)
}
