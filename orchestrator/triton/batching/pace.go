package batching

import (
	"slices"
	"time"
)

// pace is how fast batches are computed, and when the next one is to be made.
type pace struct {
	perToken time.Duration // of late, padding counted as Options.cost does; 0 until a batch has ended
	timer    *time.Timer   // starts what may start, see early
}

// turn is when a batch is computed, as far as one can tell from outside.
type turn struct {
	begins time.Time // when it is sent or, later, when the batch ends that it waits for at Triton
	ends   time.Time // foreseen; zero where nothing is known yet
}

// begin sets the beginning, and moves the end foreseen with it.
func (t *turn) begin(now time.Time) {
	if !t.ends.IsZero() {
		t.ends = now.Add(t.ends.Sub(t.begins))
	}
	t.begins = now
}

// ahead is how long before a batch is foreseen to end the next one is made: the way to Triton, and a part of the time
// foreseen since that is a guess.
const (
	way   = time.Millisecond
	guess = 8 // the part is one of so many
)

// early reports whether a batch made now would only wait at Triton for one of those in flight to end. Rows that come
// meanwhile can still join it, if it is made later: then it starts by itself. A batch that cannot grow is not early.
func (b *Batcher[Row, Result]) early(now time.Time) bool {
	if b.options.Copies == nil || len(b.flying) == 0 || len(b.front.queue.rows) == 0 || b.grown() || len(b.flying) < b.options.Copies() {
		return false
	}
	next := b.soonest().turn
	if next.ends.IsZero() {
		return false
	}
	wait := next.ends.Sub(now) - next.ends.Sub(next.begins)/guess - way
	if wait <= 0 {
		return false
	}
	if b.pace.timer == nil {
		b.pace.timer = time.AfterFunc(wait, b.wake)
	} else {
		b.pace.timer.Reset(wait)
	}
	return true
}

// wake starts what may start.
func (b *Batcher[Row, Result]) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start()
}

// grown reports whether the rows that wait fill a batch.
func (b *Batcher[Row, Result]) grown() bool {
	rows := b.front.queue.rows
	if len(rows) >= b.options.MaxRows {
		return true
	}
	tokens := 0
	for _, r := range rows {
		tokens += r.length
	}
	return tokens >= b.options.MaxTokens
}

// soonest is the batch in flight that is foreseen to end first, of those for which no other waits.
func (b *Batcher[Row, Result]) soonest() *batch[Row, Result] {
	awaited := map[*batch[Row, Result]]bool{}
	for _, other := range b.flying {
		awaited[other.behind] = true
	}
	var first *batch[Row, Result]
	for _, other := range b.flying {
		if !awaited[other] && (first == nil || other.turn.ends.Before(first.turn.ends)) {
			first = other
		}
	}
	return first
}

// launch takes note of a batch that is sent now.
func (b *Batcher[Row, Result]) launch(made *batch[Row, Result]) {
	made.turn.begins = time.Now()
	if b.options.Copies != nil && len(b.flying) > 0 && len(b.flying) >= b.options.Copies() {
		made.behind = b.soonest()
		if free := made.behind.turn.ends; free.After(made.turn.begins) {
			made.turn.begins = free
		}
	}
	if b.pace.perToken > 0 {
		made.turn.ends = made.turn.begins.Add(b.pace.perToken * time.Duration(b.weight(made)))
	}
	b.flying = append(b.flying, made)
}

// weight is what a batch costs, in tokens.
func (b *Batcher[Row, Result]) weight(made *batch[Row, Result]) int {
	return b.options.cost(len(made.rows), made.tokens(), made.longest())
}

// land takes note of a batch that has ended, and of how long it was computed.
func (b *Batcher[Row, Result]) land(ended *batch[Row, Result]) {
	now := time.Now()
	for _, other := range b.flying {
		if other.behind == ended {
			other.behind = nil
			other.turn.begin(now)
		}
	}
	at := slices.Index(b.flying, ended)
	b.flying = slices.Delete(b.flying, at, at+1)
	took := max(1, now.Sub(ended.turn.begins)/time.Duration(max(1, b.weight(ended))))
	if b.pace.perToken == 0 {
		b.pace.perToken = took
	}
	b.pace.perToken += (took - b.pace.perToken) / 4
}
