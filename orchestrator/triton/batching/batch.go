package batching

import (
	"context"
	"time"

	"retort/orchestrator/telemetry"
)

// batch is the argument of one call of run: rows in ascending order of length.
type batch[Row, Result any] struct {
	ctx         context.Context
	cancel      context.CancelFunc
	rows        []*row[Row, Result]
	submissions []*submission[Row, Result] // to which the rows belong
	waiters     int                        // submissions that still wait for a result
	started     time.Time
	schedule    schedule
	waitsFor    *batch[Row, Result] // must end before an instance is free for this one; nil if one is free
	isAwaited   bool                // another batch in flight waits for this one
}

// newBatch makes a batch. Its context ends when no submission waits for it any longer, or at the latest of their
// deadlines if all have one. It carries the trace of the seed's request.
func newBatch[Row, Result any](rows []*row[Row, Result], seed *row[Row, Result]) *batch[Row, Result] {
	b := &batch[Row, Result]{rows: rows}
	var latest time.Time
	allHaveDeadlines := true
	now := time.Now()
	for _, r := range rows {
		if _, ok := r.submission.batches[b]; ok {
			continue
		}
		r.submission.join(b, now)
		b.submissions = append(b.submissions, r.submission)
		deadline, ok := r.submission.ctx.Deadline()
		allHaveDeadlines = allHaveDeadlines && ok
		if deadline.After(latest) {
			latest = deadline
		}
	}
	b.waiters = len(b.submissions)
	// The time with Triton is counted for each submission, not for the request of the seed.
	ctx := telemetry.WithRequest(context.WithoutCancel(seed.submission.ctx), &telemetry.Request{})
	if allHaveDeadlines {
		b.ctx, b.cancel = context.WithDeadline(ctx, latest)
	} else {
		b.ctx, b.cancel = context.WithCancel(ctx)
	}
	return b
}

// values returns the rows as run takes them.
func (b *batch[Row, Result]) values() []Row {
	values := make([]Row, len(b.rows))
	for i, r := range b.rows {
		values[i] = r.value
	}
	return values
}

// longest returns the length of the longest row, in tokens.
func (b *batch[Row, Result]) longest() int { return b.rows[len(b.rows)-1].length }

// tokens returns the number of tokens without padding.
func (b *batch[Row, Result]) tokens() int {
	tokens := 0
	for _, r := range b.rows {
		tokens += r.length
	}
	return tokens
}

// split returns one batch for each submission.
func (b *batch[Row, Result]) split() []*batch[Row, Result] {
	parts := make([]*batch[Row, Result], len(b.submissions))
	for i, s := range b.submissions {
		parts[i] = &batch[Row, Result]{ctx: b.ctx, submissions: []*submission[Row, Result]{s}}
		for _, r := range b.rows {
			if r.submission == s {
				parts[i].rows = append(parts[i].rows, r)
			}
		}
	}
	return parts
}

// countRows counts the rows for the requests that they belong to, once for each entry that the batch was given to.
func (b *batch[Row, Result]) countRows() {
	for entry := range telemetry.FromContext(b.ctx).ModelRows() {
		for _, r := range b.rows {
			r.submission.account.AddModelRows(entry, 1)
		}
	}
}

// stats returns the statistics of a batch that has ended with err.
func (b *batch[Row, Result]) stats(err error) Stats {
	return Stats{
		Rows:     len(b.rows),
		Requests: len(b.submissions),
		Tokens:   b.tokens(),
		Padded:   len(b.rows) * b.longest(),
		Took:     time.Since(b.started),
		Err:      err,
	}
}
