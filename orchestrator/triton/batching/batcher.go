// Package batching combines rows of concurrent requests in shared calls of a model. It knows no server: a call is a
// function of rows.
//
// Most models take as long for a batch as for that many rows of the longest one's length, so a batch has rows of
// similar length. Sorting by length and cutting by padded tokens triples the throughput of arrival order on mixed
// lengths. The result of a row must not depend on the rows beside it.
//
// Terms:
//   - row: one element of a batch, with a length in tokens.
//   - submission: the rows of one call of Do. The submissions of one HTTP request share its account.
//   - lane: where submissions wait; the foreground lane goes before the background lane.
//   - seed: the row around which a batch is built.
//   - instance: a copy of the model that computes one batch at a time.
//   - claim: how much of the model a request has used and still asks for; the smallest claim goes first.
package batching

import (
	"context"
	"math"
	"sync"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
)

// Options bound the batches of a Batcher. A zero value means the default.
type Options struct {
	// MaxRows is the upper bound on the rows of a batch: the model's MaxBatch. Default 32.
	MaxRows int
	// MaxTokens is the upper bound on the cost of a batch, in tokens, with padding weighted by PaddingCost. A longer
	// row is sent alone. About 512 suit a CPU, thousands a GPU. Default 512.
	MaxTokens int
	// PaddingCost is the cost of a padding token relative to a token of a row: 1 for a graph that computes padding,
	// less for one that skips it in most products. Default 1.
	PaddingCost float64
	// CallTokens is the overhead of a call, in tokens. A row joins a batch only if it adds no more padding than that.
	// Default MaxTokens/32, at least 8.
	CallTokens int
	// Concurrency is the upper bound on batches in flight on each replica. One more than its instances hides the round
	// trip. Default 2.
	Concurrency int
	// Replicas returns how many replicas serve the model, at least 1. It is called before each batch. If it is nil,
	// there is one.
	Replicas func() int
	// Instances is how many batches each replica computes at once. If Concurrency is higher, a batch that would only
	// queue at Triton is built shortly before an instance is free, from the rows waiting then. If it is 0, every batch
	// is sent as soon as Concurrency allows.
	Instances int
	// MaxWaiting is the upper bound on waiting rows, which protects memory in case the gateway admits too much. A
	// request of any size is accepted if no row waits. Default 2,097,152 (256 requests of 8,192 texts).
	MaxWaiting int
	// Observe is called after each batch, on the goroutine that sent it.
	Observe func(Stats)
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxRows, 32)
	setDefault(&o.MaxTokens, 512)
	setDefault(&o.PaddingCost, 1)
	setDefault(&o.CallTokens, max(8, o.MaxTokens/32))
	setDefault(&o.Concurrency, 2)
	setDefault(&o.MaxWaiting, 1<<21)
	if o.Replicas == nil {
		o.Replicas = func() int { return 1 }
	}
	return o
}

func setDefault[T int | float64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// cost returns the cost of rows with a total of tokens, padded to longest.
func (o Options) cost(rows, tokens, longest int) int {
	return tokens + o.padding(rows*longest-tokens)
}

// padding returns the cost of padding tokens.
func (o Options) padding(tokens int) int { return int(math.Ceil(o.PaddingCost * float64(tokens))) }

// Stats describes a batch that has ended.
type Stats struct {
	Rows     int
	Requests int
	Tokens   int           // without padding
	Padded   int           // tokens with padding
	Took     time.Duration // the call
	Err      error
}

// Batcher combines rows of all requests in batches. It starts a batch as soon as it may: a lone request does not wait,
// and rows accumulate only while Concurrency batches are in flight on each replica, or while another batch would queue
// at Triton (see postpone). Requests take turns (see next): the seed of a batch is the longest waiting row of the
// request whose turn it is.
type Batcher[Row, Result any] struct {
	length  func(Row) int
	run     func(context.Context, []Row) ([]Result, error)
	options Options

	mu             sync.Mutex
	foreground     lane[Row, Result]
	background     lane[Row, Result] // of requests marked as background work
	inFlight       []*batch[Row, Result]
	replicas       int // Options.Replicas() at the last startBatches
	pace           pace
	lastForeground time.Time     // when rows last came to the foreground
	lastBackground time.Time     // when the background last had a batch, or began to wait
	rowTime        time.Duration // moving average of the time per row, for retryAfter
}

// lane holds the waiting rows of one priority.
type lane[Row, Result any] struct {
	queue     queue[Row, Result]
	waiting   []*submission[Row, Result] // with waiting rows, the least recently served first
	longCount int                        // submissions in waiting that are not short
	turns     uint64
}

// lane returns the lane in which a submission waits.
func (b *Batcher[Row, Result]) lane(s *submission[Row, Result]) *lane[Row, Result] {
	if s.account.Background {
		return &b.background
	}
	return &b.foreground
}

// New returns a Batcher. length returns the tokens of a row. run sends one batch and returns a result per row, in
// order. Its context ends when no request waits for the batch any longer, and carries the trace of the seed's request.
// The Batcher itself counts the time of run as the requests' time with Triton.
func New[Row, Result any](
	length func(Row) int, run func(context.Context, []Row) ([]Result, error), options Options,
) *Batcher[Row, Result] {
	return &Batcher[Row, Result]{length: length, run: run, options: options.withDefaults()}
}

// Do returns a result for each row, in order. On failure it returns the error of the first failed batch with one of the
// rows, together with the results received before, zero values for the others, or nil. The error is Overloaded if too
// many rows are waiting. Do adds the time that rows spent in batches to the request of ctx as time with Triton, and the
// remaining time as time in the queue.
func (b *Batcher[Row, Result]) Do(ctx context.Context, rows []Row) ([]Result, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.As(err)
	}
	start := time.Now()
	s := newSubmission[Row, Result](ctx, rows, b.length)
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
	request.AddTriton(s.batchTime)
	request.AddQueued(time.Since(start) - s.batchTime)
	return s.results, s.err
}

// submit queues the rows and starts batches.
func (b *Batcher[Row, Result]) submit(s *submission[Row, Result]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lane(s)
	if n := len(l.queue.rows); n > 0 && n+s.pending > b.options.MaxWaiting {
		return &fault.Error{
			Kind:       fault.Overloaded,
			Message:    "too many inputs are waiting",
			RetryAfter: b.retryAfter(),
		}
	}
	now := time.Now()
	if l == &b.foreground {
		b.lastForeground = now
	} else if len(l.queue.rows) == 0 {
		b.lastBackground = now // the background did not wait before
	}
	l.queue.add(s.waiting)
	s.short = b.claim(s).batches == 0
	if !s.short {
		l.longCount++
	}
	l.waiting = append(l.waiting, s)
	b.startBatches()
	return nil
}

// retryAfter estimates the time until the rows now waiting are served, in whole seconds from 1 to 30.
func (b *Batcher[Row, Result]) retryAfter() time.Duration {
	concurrency := b.options.Concurrency * b.options.Replicas()
	estimate := b.rowTime * time.Duration(len(b.foreground.queue.rows)/concurrency)
	return min(max(estimate.Round(time.Second), time.Second), 30*time.Second)
}

// The background gets full batches only when no foreground rows have come for quietPeriod. Until then it gets small
// batches, one at a time and only while no other batch is in flight, so that a request that comes then waits little. If
// it has waited for starvationLimit, it gets a small batch whatever else is in flight.
const (
	quietPeriod     = 2 * time.Second
	starvationLimit = time.Second
	smallDivisor    = 8 // a small batch has MaxTokens/smallDivisor
)

// startBatches sends batches while more may be in flight and rows wait. Background rows have batches of their own,
// since they would lengthen those of the foreground.
func (b *Batcher[Row, Result]) startBatches() {
	now := time.Now()
	b.replicas = b.options.Replicas()
	concurrency := b.options.Concurrency * b.replicas
	small := b.options
	small.MaxTokens = max(1, small.MaxTokens/smallDivisor)
	if now.Sub(b.lastBackground) > starvationLimit && len(b.inFlight) < concurrency &&
		b.startBatch(&b.background, small) {
		b.lastBackground = now
	}
	for len(b.inFlight) < concurrency && !b.postpone(now) && b.startBatch(&b.foreground, b.options) {
	}
	options := b.options
	if now.Sub(b.lastForeground) < quietPeriod {
		options = small
		concurrency = 1
	}
	for len(b.inFlight) < concurrency && b.startBatch(&b.background, options) {
		b.lastBackground = now
	}
}

// startBatch sends the next batch of a lane, and returns false if no row waits there.
func (b *Batcher[Row, Result]) startBatch(l *lane[Row, Result], options Options) bool {
	s := b.next(l)
	if s == nil {
		return false
	}
	seed := s.longest()
	next := newBatch(l.take(seed, options), seed)
	b.addInFlight(next)
	b.charge(next, s)
	go b.send(next)
	return true
}
