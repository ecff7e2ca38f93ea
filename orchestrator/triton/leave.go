package triton

import (
	"context"
	"time"
)

// A Triton dies, hangs or never stops when a call is cancelled while it hands over a response: the state of the call is
// released twice, or never. (Seen with 24.10: a stream that is left right after a response kills it within a few hundred
// times, a unary call within some ten thousand. Server issues 7368, 8034 and 8704; later releases narrow the windows.)
// So a call whose caller leaves may end by itself first, and is cancelled only where no response is expected just then.
const (
	// patience is how long a call may go on after its caller has left.
	patience = time.Second
	// steadyGaps in a row, none shorter than shortestGap, are needed to cancel a stream before patience is over: a busy
	// machine makes single gaps.
	steadyGaps  = 3
	shortestGap = 10 * time.Millisecond
	// closing is how long a server may take to close a call after its final response.
	closing = time.Minute
)

// outlive returns a context for a unary call: it ends patience after ctx has, or with release, which must be called.
func outlive(ctx context.Context) (call context.Context, release func()) {
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(patience, cancel)
		context.AfterFunc(call, func() { late.Stop() })
	})
	return call, func() {
		stop()
		cancel()
	}
}

// leave ends the stream for its caller, who must not receive from it any more; the call ends in the background.
func (s *stream) leave() { s.leaving.Do(func() { go s.hangUp() }) }

// hangUp ends the call: it reads on, and cancels in the middle between two responses, which come evenly from a model
// that writes token after token. Where they come faster than shortestGap, or unevenly, the call may go on to its end for
// as long as patience. One that has had its final response is never cancelled: the server closes it.
func (s *stream) hangUp() {
	defer s.cancel()
	over := time.After(patience)
	steady := steadyGaps
	var pause <-chan time.Time
	var last time.Time
	var shortest time.Duration
	gaps := 0
	for {
		select {
		case m, open := <-s.messages:
			if !open || m.err != nil {
				return
			}
			pause = nil
			now := time.Now()
			if isFinal(m.response.GetInferResponse()) {
				over = time.After(closing)
				steady = -1
				continue
			}
			if gap := now.Sub(last); !last.IsZero() {
				if gaps == 0 || gap < shortest {
					shortest = gap
				}
				gaps++
			}
			last = now
			if steady >= 0 && gaps >= steady && (shortest >= shortestGap || steady == 0) {
				pause = time.After(max(shortest, shortestGap/2) / 2)
			}
		case <-pause:
			return
		case <-over:
			if steady <= 0 || last.IsZero() || time.Since(last) > patience/2 {
				return // it does not end, or writes seldom
			}
			steady = 0
			over = time.After(patience)
		}
	}
}
