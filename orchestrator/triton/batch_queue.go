package triton

import (
	"cmp"
	"context"
	"slices"
	"time"
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
