package batching

import (
	"context"
	"time"

	"retort/orchestrator/telemetry"
)

// batch is what one call of run gets: rows ordered by length.
type batch[Row, Result any] struct {
	ctx     context.Context
	cancel  context.CancelFunc
	rows    []*row[Row, Result]
	members []*submission[Row, Result] // whose rows they are
	alive   int                        // how many of those are still waited for
	started time.Time
	turn    turn
	behind  *batch[Row, Result] // that it waits for at Triton
}

// newBatch makes a batch that ends when all its requests have: by leaving, or by the latest of their deadlines if each
// has one.
func newBatch[Row, Result any](rows []*row[Row, Result], seed *row[Row, Result]) *batch[Row, Result] {
	b := &batch[Row, Result]{rows: rows}
	var latest time.Time
	bounded := true
	now := time.Now()
	for _, r := range rows {
		if _, in := r.submission.batches[b]; in {
			continue
		}
		r.submission.join(b, now)
		b.members = append(b.members, r.submission)
		deadline, ok := r.submission.ctx.Deadline()
		bounded = bounded && ok
		if deadline.After(latest) {
			latest = deadline
		}
	}
	b.alive = len(b.members)
	ctx := telemetry.WithRequest(context.WithoutCancel(seed.submission.ctx), nil)
	if bounded {
		b.ctx, b.cancel = context.WithDeadline(ctx, latest)
	} else {
		b.ctx, b.cancel = context.WithCancel(ctx)
	}
	return b
}

// values are the rows as run takes them.
func (b *batch[Row, Result]) values() []Row {
	values := make([]Row, len(b.rows))
	for i, r := range b.rows {
		values[i] = r.value
	}
	return values
}

// longest is the number of tokens of the longest row.
func (b *batch[Row, Result]) longest() int { return b.rows[len(b.rows)-1].length }

// tokens is the number of tokens, padding not counted.
func (b *batch[Row, Result]) tokens() int {
	tokens := 0
	for _, r := range b.rows {
		tokens += r.length
	}
	return tokens
}

// parts splits the batch by request.
func (b *batch[Row, Result]) parts() []*batch[Row, Result] {
	parts := make([]*batch[Row, Result], len(b.members))
	for i, s := range b.members {
		parts[i] = &batch[Row, Result]{ctx: b.ctx, members: []*submission[Row, Result]{s}}
		for _, r := range b.rows {
			if r.submission == s {
				parts[i].rows = append(parts[i].rows, r)
			}
		}
	}
	return parts
}

// stats are what an observer is told.
func (b *batch[Row, Result]) stats(err error) Stats {
	s := Stats{Rows: len(b.rows), Requests: len(b.members), Took: time.Since(b.started), Err: err}
	s.Tokens = b.tokens()
	s.Padded = len(b.rows) * b.longest()
	first := b.started
	for _, r := range b.rows {
		if r.since.Before(first) {
			first = r.since
		}
	}
	s.Waited = b.started.Sub(first)
	return s
}
