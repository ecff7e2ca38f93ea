package batching

import "slices"

// queue holds the waiting rows of all requests by length.
type queue[Row, Result any] struct {
	rows []*row[Row, Result]
	seq  uint64
}

// add sorts the new rows, in place, and merges them in from the back.
func (q *queue[Row, Result]) add(rows []*row[Row, Result]) {
	for _, r := range rows {
		q.seq++
		r.seq = q.seq
	}
	slices.SortFunc(rows, (*row[Row, Result]).compare)
	old := len(q.rows) - 1
	added := len(rows) - 1
	q.rows = append(q.rows, rows...)
	for at := len(q.rows) - 1; added >= 0; at-- {
		if old >= 0 && q.rows[old].compare(rows[added]) > 0 {
			q.rows[at] = q.rows[old]
			old--
		} else {
			q.rows[at] = rows[added]
			added--
		}
	}
}

// take removes a row and those that make a good batch with it: see [queue.around]. Beside a row of a short request that
// is only rows of short requests.
func (l *lane[Row, Result]) take(seed *row[Row, Result], o Options) []*row[Row, Result] {
	q := &l.queue
	if !seed.submission.short || l.long == 0 {
		return q.cut(q.around(seed, o))
	}
	short := queue[Row, Result]{}
	for _, r := range q.rows {
		if r.submission.short {
			short.rows = append(short.rows, r)
		}
	}
	taken := short.cut(short.around(seed, o))
	q.rows = slices.DeleteFunc(q.rows, func(r *row[Row, Result]) bool { return r.taken })
	return taken
}

// around is the part of the queue that makes a good batch with a row in it: those next to it in length. At every step
// the neighbour that adds less padding is looked at: a longer one lengthens all rows so far, a shorter one is lengthened
// itself.
func (q *queue[Row, Result]) around(seed *row[Row, Result], o Options) (from, to int) {
	from, _ = slices.BinarySearchFunc(q.rows, seed, (*row[Row, Result]).compare)
	to = from + 1
	tokens := seed.length
	for to-from < o.MaxRows {
		longest, rows := q.rows[to-1].length, to-from
		shorter, longer := o.CallTokens+1, o.CallTokens+1
		if from > 0 && o.cost(rows+1, tokens+q.rows[from-1].length, longest) <= o.MaxTokens {
			shorter = o.padding(longest - q.rows[from-1].length)
		}
		if to < len(q.rows) && o.cost(rows+1, tokens+q.rows[to].length, q.rows[to].length) <= o.MaxTokens {
			longer = o.padding((q.rows[to].length - longest) * rows)
		}
		if min(shorter, longer) > o.CallTokens {
			break
		}
		if longer < shorter {
			tokens += q.rows[to].length
			to++
		} else {
			from--
			tokens += q.rows[from].length
		}
	}
	return from, to
}

// cut takes a part out of the queue.
func (q *queue[Row, Result]) cut(from, to int) []*row[Row, Result] {
	taken := slices.Clone(q.rows[from:to])
	q.rows = slices.Delete(q.rows, from, to)
	for _, r := range taken {
		r.taken = true
		r.submission.queued.rows--
		r.submission.queued.tokens -= r.length
	}
	return taken
}

// remove takes out what a request still has waiting.
func (q *queue[Row, Result]) remove(s *submission[Row, Result]) {
	if s.longest() != nil {
		q.rows = slices.DeleteFunc(q.rows, func(r *row[Row, Result]) bool { return r.submission == s })
	}
}
