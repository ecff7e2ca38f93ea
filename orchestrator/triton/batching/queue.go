package batching

import "slices"

// queue holds waiting rows in ascending order of length, equal lengths in order of arrival.
type queue[Row, Result any] struct {
	rows    []*row[Row, Result]
	lastSeq uint64
}

// add sorts rows in place and merges them into the queue from its end.
func (q *queue[Row, Result]) add(rows []*row[Row, Result]) {
	for _, r := range rows {
		q.lastSeq++
		r.seq = q.lastSeq
	}
	slices.SortFunc(rows, (*row[Row, Result]).compare)
	old := len(q.rows) - 1
	added := len(rows) - 1
	q.rows = append(q.rows, rows...)
	for i := len(q.rows) - 1; added >= 0; i-- {
		if old >= 0 && q.rows[old].compare(rows[added]) > 0 {
			q.rows[i] = q.rows[old]
			old--
		} else {
			q.rows[i] = rows[added]
			added--
		}
	}
}

// take removes and returns the rows of a batch around a seed (see queue.around). If the seed's request is short, so are
// those of all its rows: the batch then ends soon.
func (l *lane[Row, Result]) take(seed *row[Row, Result], o Options) []*row[Row, Result] {
	q := &l.queue
	if !seed.submission.short || l.longCount == 0 {
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

// around returns the range of rows that makes a good batch with the seed. It extends the range by the neighbour that
// adds less padding, until that exceeds CallTokens: a longer neighbour pads all rows of the range, a shorter one is
// padded itself.
func (q *queue[Row, Result]) around(seed *row[Row, Result], o Options) (from, to int) {
	from, _ = slices.BinarySearchFunc(q.rows, seed, (*row[Row, Result]).compare)
	to = from + 1
	tokens := seed.length
	for to-from < o.MaxRows {
		rows := to - from
		longest := q.rows[to-1].length
		shorterPadding := o.CallTokens + 1
		if from > 0 && o.cost(rows+1, tokens+q.rows[from-1].length, longest) <= o.MaxTokens {
			shorterPadding = o.padding(longest - q.rows[from-1].length)
		}
		longerPadding := o.CallTokens + 1
		if to < len(q.rows) && o.cost(rows+1, tokens+q.rows[to].length, q.rows[to].length) <= o.MaxTokens {
			longerPadding = o.padding((q.rows[to].length - longest) * rows)
		}
		if min(shorterPadding, longerPadding) > o.CallTokens {
			break
		}
		if longerPadding < shorterPadding {
			tokens += q.rows[to].length
			to++
		} else {
			from--
			tokens += q.rows[from].length
		}
	}
	return from, to
}

// cut removes and returns a range of rows.
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

// remove removes the waiting rows of a submission.
func (q *queue[Row, Result]) remove(s *submission[Row, Result]) {
	if s.longest() != nil {
		q.rows = slices.DeleteFunc(q.rows, func(r *row[Row, Result]) bool { return r.submission == s })
	}
}
