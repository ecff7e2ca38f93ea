package batching

import (
	"cmp"
	"context"
	"time"

	"retort/orchestrator/telemetry"
)

// submission is what one call of Do wants. Its fields are guarded by the batcher's lock until done is closed.
type submission[Row, Result any] struct {
	ctx     context.Context
	account *telemetry.Request  // of the HTTP request that this is a part of: counts what it had
	waiting []*row[Row, Result] // by length; those at its end may be taken already
	batches map[*batch[Row, Result]]struct{}
	results []Result
	queued  amount // of the rows that are in no batch yet
	left    int    // rows without a result
	err     error
	over    bool
	short   bool // its request will have had less than a full batch when its rows are served
	done    chan struct{}

	inBatches time.Duration // while at least one batch with its rows was in flight
	since     time.Time     // when the first of the batches now in flight was made
}

func newSubmission[Row, Result any](ctx context.Context, values []Row, length func(Row) int, now time.Time) *submission[Row, Result] {
	s := &submission[Row, Result]{
		ctx:     ctx,
		account: telemetry.FromContext(ctx),
		waiting: make([]*row[Row, Result], len(values)),
		batches: make(map[*batch[Row, Result]]struct{}),
		results: make([]Result, len(values)),
		left:    len(values),
		done:    make(chan struct{}),
	}
	if s.account == nil {
		s.account = &telemetry.Request{}
	}
	rows := make([]row[Row, Result], len(values))
	for i, value := range values {
		rows[i] = row[Row, Result]{submission: s, index: i, value: value, length: length(value), since: now}
		s.waiting[i] = &rows[i]
		s.queued.tokens += rows[i].length
	}
	s.queued.rows = len(rows)
	return s
}

// longest returns the longest row that still waits, or nil.
func (s *submission[Row, Result]) longest() *row[Row, Result] {
	for len(s.waiting) > 0 {
		if last := s.waiting[len(s.waiting)-1]; !last.taken {
			return last
		}
		s.waiting = s.waiting[:len(s.waiting)-1]
	}
	return nil
}

// join notes that a batch has rows of s.
func (s *submission[Row, Result]) join(b *batch[Row, Result], now time.Time) {
	if len(s.batches) == 0 {
		s.since = now
	}
	s.batches[b] = struct{}{}
}

// leave notes that a batch has ended, or that s does not wait for it any more.
func (s *submission[Row, Result]) leave(b *batch[Row, Result], now time.Time) {
	if _, in := s.batches[b]; !in {
		return
	}
	delete(s.batches, b)
	if len(s.batches) == 0 {
		s.inBatches += now.Sub(s.since)
	}
}

func (s *submission[Row, Result]) end(err error) {
	s.err = err
	s.over = true
	close(s.done)
}

// row is one row of a submission.
type row[Row, Result any] struct {
	submission *submission[Row, Result]
	index      int
	value      Row
	length     int
	seq        uint64 // orders rows of equal length by arrival
	since      time.Time
	taken      bool
}

func (r *row[Row, Result]) compare(other *row[Row, Result]) int {
	return cmp.Or(cmp.Compare(r.length, other.length), cmp.Compare(r.seq, other.seq))
}
