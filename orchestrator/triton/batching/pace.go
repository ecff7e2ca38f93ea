package batching

import (
	"slices"
	"time"
)

// pace is how fast batches are computed, and when the next one is due.
type pace struct {
	tokenTime time.Duration // moving average per token of Options.cost; 0 until a batch has ended
	timer     *time.Timer   // starts a postponed batch
}

// schedule is when a batch is computed, estimated from outside.
type schedule struct {
	start time.Time // when it is sent or, if later, when the batch that it waits for ends
	end   time.Time // estimate; zero if the pace is not known yet
}

// moveTo sets the start and moves the estimated end with it.
func (s *schedule) moveTo(start time.Time) {
	if !s.end.IsZero() {
		s.end = start.Add(s.end.Sub(s.start))
	}
	s.start = start
}

// The next batch is sent before an instance is free: by roundTrip, the way to Triton and back, and by the estimated
// duration of the batch in flight divided by safetyDivisor, since the estimate may be too long.
const (
	roundTrip     = time.Millisecond
	safetyDivisor = 8
)

// postpone returns true and sets a timer if a batch sent now would only wait at Triton for an instance. Rows that come
// until the timer fires can still join it. A full batch is not postponed.
func (b *Batcher[Row, Result]) postpone(now time.Time) bool {
	switch {
	case b.options.Instances == 0, len(b.inFlight) < b.options.Instances*b.replicas,
		len(b.foreground.queue.rows) == 0, b.hasFullBatch():
		return false
	}
	current := b.nextToEnd().schedule
	if current.end.IsZero() {
		return false
	}
	wait := current.end.Sub(now) - current.end.Sub(current.start)/safetyDivisor - roundTrip
	if wait <= 0 {
		return false
	}
	if b.pace.timer == nil {
		b.pace.timer = time.AfterFunc(wait, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.startBatches()
		})
	} else {
		b.pace.timer.Reset(wait)
	}
	return true
}

// hasFullBatch reports whether the waiting foreground rows fill a batch.
func (b *Batcher[Row, Result]) hasFullBatch() bool {
	rows := b.foreground.queue.rows
	if len(rows) >= b.options.MaxRows {
		return true
	}
	tokens := 0
	for _, r := range rows {
		tokens += r.length
	}
	return tokens >= b.options.MaxTokens
}

// nextToEnd returns the batch in flight that is estimated to end first among those for which no other batch waits.
func (b *Batcher[Row, Result]) nextToEnd() *batch[Row, Result] {
	var first *batch[Row, Result]
	for _, other := range b.inFlight {
		if !other.isAwaited && (first == nil || other.schedule.end.Before(first.schedule.end)) {
			first = other
		}
	}
	return first
}

// addInFlight schedules a batch that is sent now.
func (b *Batcher[Row, Result]) addInFlight(next *batch[Row, Result]) {
	next.schedule.start = time.Now()
	if b.options.Instances > 0 && len(b.inFlight) >= b.options.Instances*b.replicas {
		next.waitsFor = b.nextToEnd()
		next.waitsFor.isAwaited = true
		if free := next.waitsFor.schedule.end; free.After(next.schedule.start) {
			next.schedule.start = free
		}
	}
	if b.pace.tokenTime > 0 {
		next.schedule.end = next.schedule.start.Add(b.pace.tokenTime * time.Duration(b.cost(next)))
	}
	b.inFlight = append(b.inFlight, next)
}

// cost returns the cost of a batch, in tokens.
func (b *Batcher[Row, Result]) cost(of *batch[Row, Result]) int {
	return b.options.cost(len(of.rows), of.tokens(), of.longest())
}

// removeInFlight reschedules the batches that waited for one that has ended, and updates the pace.
func (b *Batcher[Row, Result]) removeInFlight(ended *batch[Row, Result]) {
	now := time.Now()
	for _, other := range b.inFlight {
		if other.waitsFor == ended {
			other.waitsFor = nil
			other.schedule.moveTo(now)
		}
	}
	if ended.waitsFor != nil {
		ended.waitsFor.isAwaited = false
	}
	i := slices.Index(b.inFlight, ended)
	b.inFlight = slices.Delete(b.inFlight, i, i+1)
	tokenTime := max(1, now.Sub(ended.schedule.start)/time.Duration(max(1, b.cost(ended))))
	if b.pace.tokenTime == 0 {
		b.pace.tokenTime = tokenTime
	}
	b.pace.tokenTime += (tokenTime - b.pace.tokenTime) / 4
}
