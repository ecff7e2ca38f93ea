package triton

import (
	"context"
	"time"

	"retort/orchestrator/telemetry"
)

// call is one call: items ordered by length.
type call[Row, Result any] struct {
	ctx     context.Context
	cancel  context.CancelFunc
	items   []*item[Row, Result]
	members []*batched[Row, Result] // the requests they are of
	alive   int                     // how many of those are still waited for
	started time.Time
}

// newCall makes a call that ends when all its requests have: by leaving, or by
// the latest of their deadlines if each has one.
func newCall[Row, Result any](items []*item[Row, Result], seed *item[Row, Result]) *call[Row, Result] {
	c := &call[Row, Result]{items: items}
	var latest time.Time
	bounded := true
	for _, it := range items {
		if _, ok := it.request.calls[c]; ok {
			continue
		}
		it.request.calls[c] = struct{}{}
		c.members = append(c.members, it.request)
		deadline, ok := it.request.ctx.Deadline()
		if bounded = bounded && ok; deadline.After(latest) {
			latest = deadline
		}
	}
	c.alive = len(c.members)
	ctx := telemetry.WithRequest(context.WithoutCancel(seed.request.ctx), nil)
	if bounded {
		c.ctx, c.cancel = context.WithDeadline(ctx, latest)
	} else {
		c.ctx, c.cancel = context.WithCancel(ctx)
	}
	return c
}

func (c *call[Row, Result]) rows() []Row {
	rows := make([]Row, len(c.items))
	for i, it := range c.items {
		rows[i] = it.row
	}
	return rows
}

// parts splits the call by request.
func (c *call[Row, Result]) parts() []*call[Row, Result] {
	parts := make([]*call[Row, Result], len(c.members))
	for i, r := range c.members {
		parts[i] = &call[Row, Result]{ctx: c.ctx, members: []*batched[Row, Result]{r}}
		for _, it := range c.items {
			if it.request == r {
				parts[i].items = append(parts[i].items, it)
			}
		}
	}
	return parts
}

// summary is what an observer is told.
func (c *call[Row, Result]) summary(err error) Batch {
	s := Batch{Rows: len(c.items), Requests: len(c.members), Took: time.Since(c.started), Err: err}
	first := c.started
	for _, it := range c.items {
		s.Tokens += it.length
		if it.since.Before(first) {
			first = it.since
		}
	}
	s.Padded = c.items[len(c.items)-1].length * len(c.items)
	s.Waited = c.started.Sub(first)
	return s
}
