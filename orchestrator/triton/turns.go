package triton

// Turns after which all requests are alike: a request that has had fewer goes first, so that a short one does not wait
// behind long ones, and one that has had this many shares equally with all others that have.
const manyTurns = 16

// Every so many turns the request that has waited longest has one, whatever else waits: short requests that keep coming
// cannot hold a long one back.
const fairEvery = 4

// next takes the request whose turn it is off the front of those that wait and puts it to their end, or returns nil
// when nothing waits. It is the one that has had the fewest turns (least attained service), and among those the one
// with the fewest rows left, and then the one that has waited longest. Turns are counted over all of an HTTP request's
// rows: a search that submits its rows generation by generation is one request.
func (b *Batcher[Row, Result]) next() *submission[Row, Result] {
	b.forgetServed()
	if len(b.waiting) == 0 {
		return nil
	}
	b.turns++
	chosen := 0
	if b.turns%fairEvery != 0 {
		for i, s := range b.waiting {
			if s.before(b.waiting[chosen]) {
				chosen = i
			}
		}
	}
	s := b.waiting[chosen]
	copy(b.waiting[chosen:], b.waiting[chosen+1:])
	b.waiting[len(b.waiting)-1] = s
	s.account.AddTurn()
	return s
}

// forgetServed drops the requests whose rows have all been taken along.
func (b *Batcher[Row, Result]) forgetServed() {
	kept := b.waiting[:0]
	for _, s := range b.waiting {
		if s.longest() != nil {
			kept = append(kept, s)
		}
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
}

// before reports whether s goes before other, which has waited longer.
func (s *submission[Row, Result]) before(other *submission[Row, Result]) bool {
	mine := min(s.account.Turns(), manyTurns)
	theirs := min(other.account.Turns(), manyTurns)
	if mine != theirs || mine == manyTurns {
		return mine < theirs
	}
	return len(s.waiting) < len(other.waiting)
}
