package batching

// What a request had of batches is counted in thousandths of a full one (full). A batch made for it counts as a sixteenth
// at least (call), which is about what a call costs however few its rows are. Requests that will have had this much
// (many) share equally with each other.
const (
	full = 1000
	call = full / 16
	many = 16 * full
)

// Every so many turns the request that has waited longest has one, whatever else waits: short requests that keep coming
// cannot hold a long one back.
const fairEvery = 4

// next takes the request whose turn it is off the front of those that wait and puts it to their end, or returns nil
// when nothing waits. It is the one that will have had the fewest full batches when the rows that it waits for are
// served, so that a short one does not wait behind long ones; among those the one that had the least so far, and then
// the one that has waited longest. What it had is counted over all of an HTTP request's rows: a search that submits its
// rows generation by generation is one request.
func (b *Batcher[Row, Result]) next(l *lane[Row, Result]) *submission[Row, Result] {
	l.forgetServed()
	if len(l.waiting) == 0 {
		return nil
	}
	l.turns++
	chosen := 0
	if l.turns%fairEvery != 0 {
		least := b.claim(l.waiting[0])
		for i, s := range l.waiting {
			if claim := b.claim(s); claim.before(least) {
				chosen = i
				least = claim
			}
		}
	}
	s := l.waiting[chosen]
	copy(l.waiting[chosen:], l.waiting[chosen+1:])
	l.waiting[len(l.waiting)-1] = s
	return s
}

// claim is what decides whose turn it is.
type claim struct {
	foreseen int64 // full batches that the request will have had with the rows that wait now
	served   int64 // what it had so far, in thousandths of a full batch
}

func (c claim) before(other claim) bool {
	if c.foreseen != other.foreseen {
		return c.foreseen < other.foreseen
	}
	return c.served < other.served
}

func (b *Batcher[Row, Result]) claim(s *submission[Row, Result]) claim {
	served := s.account.Served()
	foreseen := served + int64(b.share(s.queued))
	return claim{foreseen: min(foreseen, many) / full, served: min(served, many)}
}

// amount is how much work some rows are.
type amount struct {
	rows   int
	tokens int
}

// share is how much of a full batch some rows are, in thousandths.
func (b *Batcher[Row, Result]) share(a amount) int {
	return max(full*a.tokens/b.options.MaxTokens, full*a.rows/b.options.MaxRows)
}

// count adds a batch, made for one of its requests, to what each of them had.
func (b *Batcher[Row, Result]) count(made *batch[Row, Result], s *submission[Row, Result]) {
	longest := made.longest()
	var own amount
	for _, r := range made.rows {
		if r.submission == s {
			own.rows++
			own.tokens += r.length
		} else {
			r.submission.account.AddServed(b.share(amount{rows: 1, tokens: b.options.cost(1, r.length, longest)}))
		}
	}
	own.tokens = b.options.cost(own.rows, own.tokens, longest)
	s.account.AddServed(max(call, b.share(own)))
}

// forgetServed drops the requests whose rows have all been taken along.
func (l *lane[Row, Result]) forgetServed() {
	kept := l.waiting[:0]
	l.long = 0
	for _, s := range l.waiting {
		if s.longest() == nil {
			continue
		}
		kept = append(kept, s)
		if !s.short {
			l.long++
		}
	}
	clear(l.waiting[len(kept):])
	l.waiting = kept
}
