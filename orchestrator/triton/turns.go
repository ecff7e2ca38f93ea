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
func (l *lane[Row, Result]) next() *submission[Row, Result] {
	l.forgetServed()
	if len(l.waiting) == 0 {
		return nil
	}
	l.turns++
	chosen := 0
	if l.turns%fairEvery != 0 {
		for i, s := range l.waiting {
			if s.before(l.waiting[chosen]) {
				chosen = i
			}
		}
	}
	s := l.waiting[chosen]
	copy(l.waiting[chosen:], l.waiting[chosen+1:])
	l.waiting[len(l.waiting)-1] = s
	s.account.AddTurn()
	return s
}

// forgetServed drops the requests whose rows have all been taken along.
func (l *lane[Row, Result]) forgetServed() {
	kept := l.waiting[:0]
	for _, s := range l.waiting {
		if s.longest() != nil {
			kept = append(kept, s)
		}
	}
	clear(l.waiting[len(kept):])
	l.waiting = kept
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
