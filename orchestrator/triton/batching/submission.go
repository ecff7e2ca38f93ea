package batching

import (
	"cmp"
	"context"
	"time"

	"retort/orchestrator/telemetry"
)

// submission is one call of Do. The batcher's lock guards its fields until done is closed.
type submission[Row, Result any] struct {
	ctx     context.Context
	account *telemetry.Request  // of the HTTP request; counts what it has been served
	waiting []*row[Row, Result] // ascending by length; rows at the end may have been taken
	batches map[*batch[Row, Result]]struct{}
	results []Result
	queued  amount // rows that are in no batch yet
	pending int    // rows without a result
	err     error
	ended   bool
	short   bool // its request will have used less than a full batch when these rows are served
	done    chan struct{}

	batchTime time.Duration // with at least one batch in flight
	busySince time.Time     // when batches last became non-empty
}

func newSubmission[Row, Result any](
	ctx context.Context, values []Row, length func(Row) int,
) *submission[Row, Result] {
	s := &submission[Row, Result]{
		ctx:     ctx,
		account: telemetry.FromContext(ctx),
		waiting: make([]*row[Row, Result], len(values)),
		batches: make(map[*batch[Row, Result]]struct{}),
		results: make([]Result, len(values)),
		pending: len(values),
		done:    make(chan struct{}),
	}
	rows := make([]row[Row, Result], len(values))
	for i, value := range values {
		rows[i] = row[Row, Result]{submission: s, index: i, value: value, length: length(value)}
		s.waiting[i] = &rows[i]
		s.queued.tokens += rows[i].length
	}
	s.queued.rows = len(rows)
	return s
}

// longest returns the longest waiting row, or nil. It drops taken rows from the end of s.waiting.
func (s *submission[Row, Result]) longest() *row[Row, Result] {
	for len(s.waiting) > 0 {
		if last := s.waiting[len(s.waiting)-1]; !last.taken {
			return last
		}
		s.waiting = s.waiting[:len(s.waiting)-1]
	}
	return nil
}

// join records a batch with rows of s.
func (s *submission[Row, Result]) join(b *batch[Row, Result], now time.Time) {
	if len(s.batches) == 0 {
		s.busySince = now
	}
	s.batches[b] = struct{}{}
}

// leave removes a batch that has ended, or for which s does not wait any longer.
func (s *submission[Row, Result]) leave(b *batch[Row, Result], now time.Time) {
	if _, ok := s.batches[b]; !ok {
		return
	}
	delete(s.batches, b)
	if len(s.batches) == 0 {
		s.batchTime += now.Sub(s.busySince)
	}
}

func (s *submission[Row, Result]) end(err error) {
	s.err = err
	s.ended = true
	close(s.done)
}

// row is one row of a submission.
type row[Row, Result any] struct {
	submission *submission[Row, Result]
	index      int
	value      Row
	length     int    // tokens
	seq        uint64 // orders rows of equal length by arrival
	taken      bool   // from the queue, for a batch
}

func (r *row[Row, Result]) compare(other *row[Row, Result]) int {
	return cmp.Or(cmp.Compare(r.length, other.length), cmp.Compare(r.seq, other.seq))
}
