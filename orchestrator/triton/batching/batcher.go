// Package batching joins rows of many requests to shared calls of a model. It knows no server: a call is a function of
// rows.
package batching

import (
	"context"
	"math"
	"sync"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
)

// Options bound what a Batcher sends. Zero values are the defaults said.
type Options struct {
	// MaxRows is the largest number of rows in a batch: the model's MaxBatch. Default 32.
	MaxRows int
	// MaxTokens is the largest number of tokens in a batch, those of padding as PaddingCost says: about 512 suit a CPU,
	// thousands a GPU. A longer row goes alone. Default 512.
	MaxTokens int
	// PaddingCost is what a token of padding costs a call, as a part of what one of a row costs: 1 for a graph that
	// computes padding, less for one that leaves it out of most products. Default 1.
	PaddingCost float64
	// CallTokens is what one more call costs, in tokens. Rows join only while that adds less padding. Default
	// MaxTokens/32.
	CallTokens int
	// Concurrency is how many batches are in flight: the instances of the model on all replicas; one more hides the way
	// there and back. Default 2.
	Concurrency int
	// Copies is how many batches are computed at once: the model's instances on all replicas. Where Concurrency is more,
	// a batch that would only wait for another to end is made shortly before that, of the rows there are by then. nil:
	// not known, every batch is made as soon as it may be in flight.
	Copies func() int
	// MaxWaiting is how many rows may wait, as a last bound on memory: the gateway bounds the requests. A request of
	// any size is taken when nothing waits. Default 2,097,152 (256 requests of 8,192 texts).
	MaxWaiting int
	// Observe is told of every batch, from the goroutine that sent it.
	Observe func(Stats)
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxRows, 32)
	setDefault(&o.MaxTokens, 512)
	setDefault(&o.PaddingCost, 1)
	setDefault(&o.CallTokens, max(8, o.MaxTokens/32))
	setDefault(&o.Concurrency, 2)
	setDefault(&o.MaxWaiting, 1<<21)
	return o
}

func setDefault[T int | float64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// cost is what some rows of so many tokens in all cost beside one that is as long as longest, in tokens.
func (o Options) cost(rows, tokens, longest int) int {
	return tokens + o.padding(rows*longest-tokens)
}

// padding is what so many tokens of padding cost.
func (o Options) padding(tokens int) int { return int(math.Ceil(o.PaddingCost * float64(tokens))) }

// Stats says what one batch was made of, for metrics.
type Stats struct {
	Rows, Requests int
	// Tokens are without padding, Padded with it.
	Tokens, Padded int
	// Waited is how long its first row did, Took how long the batch did.
	Waited, Took time.Duration
	Err          error
}

// Batcher joins the rows of all requests to batches of similar length, since a batch costs most models as much as its
// longest row times their number: sorted by length and cut by padded tokens, the throughput on mixed lengths is three
// times that of arrival order. A row's result must not depend on the rows beside it.
//
// When a batch may start, it starts: a lone request waits for nothing, and rows gather only while all batches allowed
// are in flight, or those are that the copies of the model can compute at once (see early). Requests take turns (see next): each batch is made around the longest waiting row of the request whose
// turn it is.
type Batcher[Row, Result any] struct {
	length  func(Row) int
	run     func(context.Context, []Row) ([]Result, error)
	options Options

	mu     sync.Mutex
	front  lane[Row, Result] // of requests that someone waits for
	behind lane[Row, Result] // of work in the background
	flying []*batch[Row, Result]
	pace   pace
	asked  time.Time     // when rows last came to the front
	gave   time.Time     // when the background last had a batch
	perRow time.Duration // what a row has taken of late, see retryAfter
}

// lane is what waits of one importance.
type lane[Row, Result any] struct {
	queue   queue[Row, Result]
	waiting []*submission[Row, Result] // those with waiting rows, longest since their last turn first
	long    int                        // of those, how many are not short
	turns   uint64
}

// lane is where the rows of a request wait.
func (b *Batcher[Row, Result]) lane(s *submission[Row, Result]) *lane[Row, Result] {
	if s.account.Background {
		return &b.behind
	}
	return &b.front
}

// New returns a batcher. length is the number of tokens of a row. run sends one batch and returns a result per
// row, in order; its context ends when none of the requests in it is waited for any longer, and carries the trace of
// the request that led to the batch. The batcher counts the time it takes as each request's time with Triton, so run
// need not.
func New[Row, Result any](length func(Row) int, run func(context.Context, []Row) ([]Result, error), options Options) *Batcher[Row, Result] {
	return &Batcher[Row, Result]{length: length, run: run, options: options.withDefaults()}
}

// Do returns a result for each row, in order, or the error of the first batch that failed with a row of this request in
// it; beside an error come the results that were there before, zero values for the others, or none at all. Too many
// waiting rows are Overloaded. What its rows spent in batches is added to the request of ctx as time with
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
	return s.results, s.err
}

// submit queues the rows and starts what may start.
func (b *Batcher[Row, Result]) submit(s *submission[Row, Result]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lane(s)
	if n := len(l.queue.rows); n > 0 && n+s.left > b.options.MaxWaiting {
		return &fault.Error{Kind: fault.Overloaded, Message: "too many inputs are waiting", RetryAfter: b.retryAfter()}
	}
	if l == &b.behind && len(l.queue.rows) == 0 {
		b.gave = time.Now() // it has not waited yet
	}
	l.queue.add(s.waiting)
	s.short = b.claim(s).foreseen == 0
	if !s.short {
		l.long++
	}
	l.waiting = append(l.waiting, s)
	if l == &b.front {
		b.asked = time.Now()
	}
	b.start()
	return nil
}

// retryAfter estimates when what waits now is done, in whole seconds.
func (b *Batcher[Row, Result]) retryAfter() time.Duration {
	estimate := b.perRow * time.Duration(len(b.front.queue.rows)/b.options.Concurrency)
	return min(max(estimate.Round(time.Second), time.Second), 30*time.Second)
}

// What the background gets beside requests that someone waits for: after the last of them it is quiet for so long before
// it gets everything; until then it has one batch at a time of a part of the tokens, and none while one of theirs is in
// flight, so that a request which comes just then waits for little.
// Once it has waited for long it has one such batch all the same.
const (
	quiet      = 2 * time.Second
	smallShare = 8
	starving   = time.Second
)

// start sends batches until no more may be in flight or nothing waits. Work in the background goes last, and its rows
// are not put into batches of others, which they would lengthen.
func (b *Batcher[Row, Result]) start() {
	now := time.Now()
	small := b.options
	small.MaxTokens = max(1, small.MaxTokens/smallShare)
	if now.Sub(b.gave) > starving && len(b.flying) < b.options.Concurrency && b.startOne(&b.behind, small) {
		b.gave = now
	}
	for len(b.flying) < b.options.Concurrency && !b.early(now) && b.startOne(&b.front, b.options) {
	}
	options := b.options
	most := b.options.Concurrency
	if now.Sub(b.asked) < quiet {
		options = small
		most = 1
	}
	for len(b.flying) < most && b.startOne(&b.behind, options) {
		b.gave = now
	}
}

// startOne sends the next batch of a lane, if something waits there. Where it is made for a short request, only rows of
// short ones are in it, so that it ends soon.
func (b *Batcher[Row, Result]) startOne(l *lane[Row, Result], options Options) bool {
	s := b.next(l)
	if s == nil {
		return false
	}
	seed := s.longest()
	made := newBatch(l.take(seed, options), seed)
	b.launch(made)
	b.count(made, s)
	go b.send(made)
	return true
}
