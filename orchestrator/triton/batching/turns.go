package batching

// Service is counted in thousandths of a full batch.
const (
	fullBatch = 1000
	// minCharge is the least charge to a request for which a batch is built: about the overhead of a call with few
	// rows.
	minCharge = fullBatch / 16
	// claimCap is the claim from which on requests share equally.
	claimCap = 16 * fullBatch
)

// fairEvery is the interval of turns at which the request that has waited longest is next, whatever its claim, so that
// a stream of short requests cannot starve a long one.
const fairEvery = 4

// next returns the submission whose turn it is and moves it to the end of the lane, or returns nil if none waits. It
// chooses the smallest claim, so that a short request does not wait behind long ones, and the one that has waited
// longest among equal claims. Claims are of whole HTTP requests: a search that submits its rows generation by
// generation is one request.
func (b *Batcher[Row, Result]) next(l *lane[Row, Result]) *submission[Row, Result] {
	l.dropServed()
	if len(l.waiting) == 0 {
		return nil
	}
	l.turns++
	chosen := 0
	if l.turns%fairEvery != 0 {
		least := b.claim(l.waiting[0])
		for i, s := range l.waiting {
			if c := b.claim(s); c.less(least) {
				chosen = i
				least = c
			}
		}
	}
	s := l.waiting[chosen]
	copy(l.waiting[chosen:], l.waiting[chosen+1:])
	l.waiting[len(l.waiting)-1] = s
	return s
}

// claim orders requests by the service that they have had and ask for, up to claimCap.
type claim struct {
	batches int64 // full batches, rounded down, that the request will have had when its waiting rows are served
	served  int64 // service so far, in thousandths of a full batch
}

func (c claim) less(other claim) bool {
	if c.batches != other.batches {
		return c.batches < other.batches
	}
	return c.served < other.served
}

func (b *Batcher[Row, Result]) claim(s *submission[Row, Result]) claim {
	served := s.account.Served()
	total := served + int64(b.share(s.queued))
	return claim{batches: min(total, claimCap) / fullBatch, served: min(served, claimCap)}
}

// amount is a number of rows and their tokens.
type amount struct {
	rows   int
	tokens int
}

// share returns how much of a full batch an amount is, in thousandths.
func (b *Batcher[Row, Result]) share(a amount) int {
	return max(fullBatch*a.tokens/b.options.MaxTokens, fullBatch*a.rows/b.options.MaxRows)
}

// charge adds a batch built for s to the accounts of all requests with rows in it.
func (b *Batcher[Row, Result]) charge(next *batch[Row, Result], s *submission[Row, Result]) {
	longest := next.longest()
	var ofSeed amount // rows of s
	for _, r := range next.rows {
		if r.submission == s {
			ofSeed.rows++
			ofSeed.tokens += r.length
		} else {
			r.submission.account.AddServed(b.share(amount{rows: 1, tokens: b.options.cost(1, r.length, longest)}))
		}
	}
	ofSeed.tokens = b.options.cost(ofSeed.rows, ofSeed.tokens, longest)
	s.account.AddServed(max(minCharge, b.share(ofSeed)))
}

// dropServed removes the submissions without waiting rows from the lane.
func (l *lane[Row, Result]) dropServed() {
	remaining := l.waiting[:0]
	l.longCount = 0
	for _, s := range l.waiting {
		if s.longest() == nil {
			continue
		}
		remaining = append(remaining, s)
		if !s.short {
			l.longCount++
		}
	}
	clear(l.waiting[len(remaining):])
	l.waiting = remaining
}
