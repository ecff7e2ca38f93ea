// Package telemetry holds the logger, the metrics, the tracer, and what is measured of one request, which travels in
// its context.
package telemetry

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Request is what is measured of one HTTP request.
type Request struct {
	ID  string
	API string
	// Background is set if no client waits for the answer: its rows get their turns after those of all other requests.
	Background bool

	triton atomic.Int64
	queued atomic.Int64
	served atomic.Int64
	tokens atomic.Int64
	rows   atomic.Int64

	evaluations atomic.Int64

	mu        sync.Mutex
	rowTokens []int
	modelRows map[string]int64
}

// AddTriton adds time spent waiting for Triton.
func (r *Request) AddTriton(d time.Duration) { r.triton.Add(int64(d)) }

// Triton returns the time spent waiting for Triton so far.
func (r *Request) Triton() time.Duration { return time.Duration(r.triton.Load()) }

// AddQueued adds time spent waiting for a turn among the rows of other requests.
func (r *Request) AddQueued(d time.Duration) { r.queued.Add(int64(d)) }

// Queued returns the time spent waiting for turns so far.
func (r *Request) Queued() time.Duration { return time.Duration(r.queued.Load()) }

// AddServed adds the request's share of a batch, in thousandths of a full batch.
func (r *Request) AddServed(thousandths int) { r.served.Add(int64(thousandths)) }

// Served returns the request's shares of batches so far, in thousandths of a full batch.
func (r *Request) Served() int64 { return r.served.Load() }

// AddTokens counts tokens given to a model, with special tokens and without padding.
func (r *Request) AddTokens(n int) { r.tokens.Add(int64(n)) }

// Tokens returns the tokens counted so far.
func (r *Request) Tokens() int64 { return r.tokens.Load() }

// AddRows counts the items of the request: texts, passages, molecules.
func (r *Request) AddRows(n int) { r.rows.Add(int64(n)) }

// Rows returns the items counted so far.
func (r *Request) Rows() int64 { return r.rows.Load() }

// AddRowsOfTokens counts rows by their tokens.
func (r *Request) AddRowsOfTokens(tokens []int) {
	for _, n := range tokens {
		r.AddTokens(n)
	}
	r.AddRows(len(tokens))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rowTokens = append(r.rowTokens, tokens...)
}

// RowTokens returns the tokens of the rows of AddRowsOfTokens, in the order in which they were added.
func (r *Request) RowTokens() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rowTokens)
}

// AddEvaluations counts molecules that an objective has scored.
func (r *Request) AddEvaluations(n int) { r.evaluations.Add(int64(n)) }

// Evaluations returns the evaluations counted so far.
func (r *Request) Evaluations() int64 { return r.evaluations.Load() }

// AddModelRows counts rows given to an entry of the model repository.
func (r *Request) AddModelRows(entry string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.modelRows == nil {
		r.modelRows = map[string]int64{}
	}
	r.modelRows[entry] += int64(n)
}

// ModelRows returns the rows counted so far, by entry of the model repository.
func (r *Request) ModelRows() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.modelRows)
}

type requestKey struct{}

// WithRequest returns a context that carries r.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// FromContext returns the request that ctx carries, or a new one if it carries none: in tools, in tests and in work
// that several requests share.
func FromContext(ctx context.Context) *Request {
	if r, _ := ctx.Value(requestKey{}).(*Request); r != nil {
		return r
	}
	return &Request{}
}
