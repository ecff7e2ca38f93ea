package triton

import (
	"cmp"
	"context"
	"slices"
	"time"

	"retort/orchestrator/telemetry"
)

// batched is one request of a Batcher. Its fields are guarded by the batcher's
// lock until done is closed.
type batched[Row, Result any] struct {
	ctx     context.Context
	waiting []*item[Row, Result] // by length; those at its end may be taken already
	calls   map[*call[Row, Result]]struct{}
	results []Result
	left    int // rows without a result
	err     error
	over    bool
	done    chan struct{}
}

func newBatched[Row, Result any](ctx context.Context, rows []Row, length func(Row) int, now time.Time) *batched[Row, Result] {
	r := &batched[Row, Result]{
		ctx: ctx, waiting: make([]*item[Row, Result], len(rows)), calls: make(map[*call[Row, Result]]struct{}),
		results: make([]Result, len(rows)), left: len(rows), done: make(chan struct{}),
	}
	items := make([]item[Row, Result], len(rows))
	for i, row := range rows {
		items[i] = item[Row, Result]{request: r, index: i, row: row, length: length(row), since: now}
		r.waiting[i] = &items[i]
	}
	return r
}

// longest returns the longest row that still waits, or nil.
func (r *batched[Row, Result]) longest() *item[Row, Result] {
	for len(r.waiting) > 0 {
		if last := r.waiting[len(r.waiting)-1]; !last.taken {
			return last
		}
		r.waiting = r.waiting[:len(r.waiting)-1]
	}
	return nil
}

func (r *batched[Row, Result]) end(err error) {
	r.err, r.over = err, true
	close(r.done)
}

// item is one row.
type item[Row, Result any] struct {
	request *batched[Row, Result]
	index   int
	row     Row
	length  int
	seq     uint64 // orders rows of equal length by arrival
	since   time.Time
	taken   bool
}

func (a *item[Row, Result]) compare(b *item[Row, Result]) int {
	return cmp.Or(cmp.Compare(a.length, b.length), cmp.Compare(a.seq, b.seq))
}

// queue holds the waiting rows of all requests by length.
type queue[Row, Result any] struct {
	items []*item[Row, Result]
	seq   uint64
}

// add sorts the new rows, in place, and merges them in from the back.
func (q *queue[Row, Result]) add(rows []*item[Row, Result]) {
	for _, it := range rows {
		q.seq++
		it.seq = q.seq
	}
	slices.SortFunc(rows, (*item[Row, Result]).compare)
	old, added := len(q.items)-1, len(rows)-1
	q.items = append(q.items, rows...)
	for at := len(q.items) - 1; added >= 0; at-- {
		if old >= 0 && q.items[old].compare(rows[added]) > 0 {
			q.items[at] = q.items[old]
			old--
		} else {
			q.items[at] = rows[added]
			added--
		}
	}
}

// take removes a row and those next to it in length that make a good call with
// it. At every step the neighbour that adds less padding is looked at: a longer
// one lengthens all rows so far, a shorter one is lengthened itself.
func (q *queue[Row, Result]) take(seed *item[Row, Result], o BatchOptions) []*item[Row, Result] {
	at, _ := slices.BinarySearchFunc(q.items, seed, (*item[Row, Result]).compare)
	from, to := at, at+1
	for to-from < o.MaxRows {
		longest, rows := q.items[to-1].length, to-from
		shorter, longer := o.CallTokens+1, o.CallTokens+1
		if from > 0 && longest*(rows+1) <= o.MaxTokens {
			shorter = longest - q.items[from-1].length
		}
		if to < len(q.items) && q.items[to].length*(rows+1) <= o.MaxTokens {
			longer = (q.items[to].length - longest) * rows
		}
		if min(shorter, longer) > o.CallTokens {
			break
		}
		if longer <= shorter {
			to++
		} else {
			from--
		}
	}
	taken := slices.Clone(q.items[from:to])
	q.items = slices.Delete(q.items, from, to)
	for _, it := range taken {
		it.taken = true
	}
	return taken
}

// remove takes out what a request still has waiting.
func (q *queue[Row, Result]) remove(r *batched[Row, Result]) {
	if r.longest() != nil {
		q.items = slices.DeleteFunc(q.items, func(it *item[Row, Result]) bool { return it.request == r })
	}
}

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
