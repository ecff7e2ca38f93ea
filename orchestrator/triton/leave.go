package triton

import (
	"context"
	"time"
)

// Triton may crash, hang or never stop if a call is cancelled while it hands over a response: it releases the state of
// the call twice or never. With 24.10, cancelling a stream right after a response crashes it within a few hundred
// attempts, cancelling a unary call within some ten thousand (issues 7368, 8034 and 8704 of the server; later releases
// narrow the windows). So a call whose caller has left gets a grace period to end by itself. Then a unary call is
// cancelled; a stream, when no response is due, or at the latest after two more such periods.
const (
	// gracePeriod is how long a call may go on after its caller has left.
	gracePeriod = time.Second
	// After the grace period, a stream is cancelled once there were requiredGaps gaps between its responses, none
	// shorter than minGap. Several are needed since a busy machine causes single gaps.
	requiredGaps = 3
	minGap       = 10 * time.Millisecond
	// closeTimeout is how long the server may take to close a call after its final response.
	closeTimeout = time.Minute
)

// withGracePeriod returns a context for a unary call. It ends gracePeriod after ctx, or with release, which must be
// called.
func withGracePeriod(ctx context.Context) (callCtx context.Context, release func()) {
	callCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(gracePeriod, cancel)
		context.AfterFunc(callCtx, func() { timer.Stop() })
	})
	return callCtx, func() {
		stop()
		cancel()
	}
}

// leave ends the stream for its caller, who must not receive from it again. The call ends in the background.
func (s *stream) leave() { s.leaving.Do(func() { go s.hangUp() }) }

// hangUp ends the call. It goes on reading for the grace period, in which most calls end by themselves, and then
// cancels the call halfway between two responses, which a model that generates tokens sends at even intervals. If
// responses come at intervals below minGap, or unevenly, the call gets a second grace period to end. After its final
// response the call is never cancelled: the server closes it.
func (s *stream) hangUp() {
	defer s.cancel()
	const never = -1
	needed := never // gaps before a cancellation
	graces := 0     // periods that are over
	final := false
	timeout := time.After(gracePeriod)
	var cancelTime <-chan time.Time
	var last time.Time
	var shortest time.Duration
	gaps := 0
	for {
		select {
		case m, open := <-s.messages:
			if !open || m.err != nil {
				return
			}
			cancelTime = nil
			now := time.Now()
			if isFinal(m.response.GetInferResponse()) {
				timeout = time.After(closeTimeout)
				needed = never
				final = true
				continue
			}
			if gap := now.Sub(last); !last.IsZero() {
				if gaps == 0 || gap < shortest {
					shortest = gap
				}
				gaps++
			}
			last = now
			if needed != never && gaps >= needed && (shortest >= minGap || needed == 0) {
				cancelTime = time.After(max(shortest, minGap/2) / 2)
			}
		case <-cancelTime:
			return
		case <-timeout:
			graces++
			switch {
			case final || graces == 3 || last.IsZero() || time.Since(last) > gracePeriod/2:
				return // it does not end, or its responses are rare
			case graces == 1:
				needed = requiredGaps
			default:
				needed = 0
			}
			timeout = time.After(gracePeriod)
		}
	}
}
