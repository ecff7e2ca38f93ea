package batching

import (
	"time"

	"retort/orchestrator/fault"
)

// send sends one batch and delivers its results. If the rows of several requests made it fail, each request that still
// waits gets a batch of its own, so that the rows of one request cannot fail another.
func (b *Batcher[Row, Result]) send(batch *batch[Row, Result]) {
	defer batch.cancel()
	results, err := b.runObserved(batch)
	took := time.Since(batch.started)
	if err != nil && len(batch.submissions) > 1 && isCausedByRows(err) {
		for _, part := range batch.split() {
			if b.hasEnded(part.submissions[0]) {
				continue
			}
			results, err := b.runObserved(part)
			b.deliver(batch, part.rows, results, err)
		}
	} else {
		b.deliver(batch, batch.rows, results, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rowTime += (took/time.Duration(len(batch.rows)) - b.rowTime) / 8
	b.removeInFlight(batch)
	b.startBatches()
}

func (b *Batcher[Row, Result]) hasEnded(s *submission[Row, Result]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.ended
}

// isCausedByRows reports whether other rows might succeed where these failed. Any other failure, such as an unavailable
// server, would meet them too.
func isCausedByRows(err error) bool {
	switch fault.KindOf(err) {
	case fault.Internal, fault.Rejected, fault.Invalid:
		return true
	}
	return false
}

// runObserved runs one batch and calls the observer.
func (b *Batcher[Row, Result]) runObserved(batch *batch[Row, Result]) ([]Result, error) {
	batch.started = time.Now()
	results, err := b.runGuarded(batch)
	if err == nil {
		batch.countRows()
	}
	if b.options.Observe != nil {
		b.options.Observe(batch.stats(err))
	}
	return results, err
}

// runGuarded runs one batch. A panic of run, which no caller could recover here, and a wrong number of results become
// errors.
func (b *Batcher[Row, Result]) runGuarded(batch *batch[Row, Result]) (results []Result, err error) {
	err = fault.WithRecover(func() (err error) {
		results, err = b.run(batch.ctx, batch.values())
		return err
	})()
	if err == nil && len(results) != len(batch.rows) {
		err = fault.New(fault.Internal, "%d results for %d rows", len(results), len(batch.rows))
	}
	return results, err
}

// deliver hands results to the submissions of the rows, or ends them with the error.
func (b *Batcher[Row, Result]) deliver(
	from *batch[Row, Result], rows []*row[Row, Result], results []Result, err error,
) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for i, r := range rows {
		s := r.submission
		s.leave(from, now)
		switch {
		case s.ended:
		case err != nil:
			b.fail(s, err)
		default:
			s.results[r.index] = results[i]
			if s.pending--; s.pending == 0 {
				s.end(nil)
			}
		}
	}
}

// fail ends a submission with an error: its waiting rows leave the queue, and batches for which no other submission
// waits are cancelled.
func (b *Batcher[Row, Result]) fail(s *submission[Row, Result], err error) {
	if s.ended {
		return
	}
	b.lane(s).queue.remove(s)
	s.waiting = nil
	now := time.Now()
	for batch := range s.batches {
		s.leave(batch, now)
		if batch.waiters--; batch.waiters == 0 {
			batch.cancel()
		}
	}
	s.end(err)
}
