package batching

import (
	"time"

	"retort/orchestrator/fault"
)

// send sends one batch and hands its results out. When a batch that served several requests fails by what was in it,
// each of them that is still waited for gets one of its own, so that one request's rows cannot fail another's.
func (b *Batcher[Row, Result]) send(batch *batch[Row, Result]) {
	defer batch.cancel()
	results, err := b.observed(batch)
	took := time.Since(batch.started)
	if err != nil && len(batch.members) > 1 && !outside(err) {
		for _, part := range batch.parts() {
			if b.over(part.members[0]) {
				continue
			}
			results, err := b.observed(part)
			b.deliver(batch, part.rows, results, err)
		}
	} else {
		b.deliver(batch, batch.rows, results, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.perRow += (took/time.Duration(len(batch.rows)) - b.perRow) / 8
	b.land(batch)
	b.start()
}

func (b *Batcher[Row, Result]) over(s *submission[Row, Result]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.over
}

// outside reports whether a batch failed by its surroundings, so that the same rows would fail again now.
func outside(err error) bool {
	switch fault.KindOf(err) {
	case fault.Internal, fault.Rejected, fault.Invalid:
		return false
	}
	return true
}

// observed runs one batch and tells the observer.
func (b *Batcher[Row, Result]) observed(batch *batch[Row, Result]) ([]Result, error) {
	batch.started = time.Now()
	results, err := b.contained(batch)
	if b.options.Observe != nil {
		b.options.Observe(batch.stats(err))
	}
	return results, err
}

// contained turns a panic of run, which has no caller to contain it, and a wrong number of results into errors.
func (b *Batcher[Row, Result]) contained(batch *batch[Row, Result]) (results []Result, err error) {
	err = fault.Guard(func() (err error) {
		results, err = b.run(batch.ctx, batch.values())
		return err
	})()
	if err == nil && len(results) != len(batch.rows) {
		err = fault.New(fault.Internal, "%d results for %d rows", len(results), len(batch.rows))
	}
	return results, err
}

// deliver gives rows of a batch their results, or their requests the error.
func (b *Batcher[Row, Result]) deliver(from *batch[Row, Result], rows []*row[Row, Result], results []Result, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for i, r := range rows {
		s := r.submission
		s.leave(from, now)
		switch {
		case s.over:
		case err != nil:
			b.fail(s, err)
		default:
			s.results[r.index] = results[i]
			if s.left--; s.left == 0 {
				s.end(nil)
			}
		}
	}
}

// fail ends a request: its waiting rows leave the queue, and batches that nobody else waits for are cancelled.
func (b *Batcher[Row, Result]) fail(s *submission[Row, Result], err error) {
	if s.over {
		return
	}
	b.lane(s).queue.remove(s)
	s.waiting = nil
	now := time.Now()
	for batch := range s.batches {
		s.leave(batch, now)
		if batch.alive--; batch.alive == 0 {
			batch.cancel()
		}
	}
	s.end(err)
}
