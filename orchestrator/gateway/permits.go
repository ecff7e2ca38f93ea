package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"retort/orchestrator/fault"
)

// Heavy is a request that can tell whether it asks for so much work that short requests must not wait for it: thousands
// of texts, a long search.
type Heavy interface{ Heavy() bool }

// permits bound the work of one API: so many requests are served at once, so many more wait, and the rest are refused
// at once. Nothing queues without bound, and one slow API takes no place of another. Heavy requests take at most three
// quarters of the permits and of the places to wait, so that light ones are served beside any number of them.
type permits struct {
	concurrency, queue int
	api                string
	metrics            meter

	mu      sync.Mutex
	serving load
	waiting load
	light   []*waiter // by arrival
	heavy   []*waiter

	background []*waiter // by arrival; as many as whoever asks in the background has places
}

// load is a number of requests.
type load struct{ all, heavy int }

func (l *load) add(n int, heavy bool) {
	l.all += n
	if heavy {
		l.heavy += n
	}
}

// waiter is a request that waits for a permit.
type waiter struct {
	granted chan struct{} // closed with the permit
	gone    bool
}

// meter is what permits report to.
type meter interface {
	Waiting(api string, n int)
	Refused(api string)
}

func newPermits(api string, concurrency, queue int, metrics meter) *permits {
	return &permits{concurrency: concurrency, queue: queue, api: api, metrics: metrics}
}

// share is the part of n that heavy requests may take: all of it where there is only one.
func share(n int) int { return max(min(n, 1), n*3/4) }

// acquire waits for a permit and returns what gives it back.
func (p *permits) acquire(ctx context.Context, heavy bool) (release func(), err error) {
	p.mu.Lock()
	if p.free(heavy) && p.next(heavy) == nil {
		p.serving.add(1, heavy)
		p.mu.Unlock()
		return func() { p.release(heavy) }, nil
	}
	if p.waiting.all >= p.queue || heavy && p.waiting.heavy >= share(p.queue) {
		p.mu.Unlock()
		p.metrics.Refused(p.api)
		return nil, &fault.Error{
			Kind:       fault.Overloaded,
			Message:    "The service is at its capacity, try again later.",
			RetryAfter: time.Second,
		}
	}
	w := &waiter{granted: make(chan struct{})}
	p.waiting.add(1, heavy)
	if heavy {
		p.heavy = append(p.heavy, w)
	} else {
		p.light = append(p.light, w)
	}
	p.mu.Unlock()
	return p.wait(ctx, w, heavy)
}

// acquireBehind waits for a permit that no request of a client waits for: for work in the background, which is heavy and
// is not refused.
func (p *permits) acquireBehind(ctx context.Context) (release func(), err error) {
	p.mu.Lock()
	w := &waiter{granted: make(chan struct{})}
	p.background = append(p.background, w)
	p.grantBehind()
	p.mu.Unlock()
	release = func() { p.release(true) }
	select {
	case <-w.granted:
		return release, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-w.granted: // just then
		return release, nil
	default:
	}
	p.background = slices.DeleteFunc(p.background, func(other *waiter) bool { return other == w })
	return nil, ctx.Err()
}

// grantBehind gives the permits that nobody else waits for to work in the background.
func (p *permits) grantBehind() {
	for len(p.background) > 0 && p.free(true) && p.next(true) == nil && p.next(false) == nil {
		close(p.background[0].granted)
		p.background = p.background[1:]
		p.serving.add(1, true)
	}
}

func (p *permits) wait(ctx context.Context, w *waiter, heavy bool) (release func(), err error) {
	p.metrics.Waiting(p.api, 1)
	defer p.metrics.Waiting(p.api, -1)
	select {
	case <-w.granted:
		return func() { p.release(heavy) }, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-w.granted: // just then
		return func() { p.release(heavy) }, nil
	default:
	}
	w.gone = true
	p.waiting.add(-1, heavy)
	p.grantBehind()
	return nil, ctx.Err()
}

// release gives a permit back and grants what has become free.
func (p *permits) release(heavy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serving.add(-1, heavy)
	// Heavy requests that wait get half of the permits before light ones get more: light ones that keep coming do not
	// shut them out.
	first := p.serving.heavy < p.concurrency/2
	for p.grant(first) || p.grant(!first) {
	}
	p.grantBehind()
}

// free reports whether a request of that weight may be served.
func (p *permits) free(heavy bool) bool {
	return p.serving.all < p.concurrency && (!heavy || p.serving.heavy < share(p.concurrency))
}

// next is the request of that weight which has waited longest, nil when none waits.
func (p *permits) next(heavy bool) *waiter {
	list := &p.light
	if heavy {
		list = &p.heavy
	}
	for len(*list) > 0 && (*list)[0].gone {
		*list = (*list)[1:]
	}
	if len(*list) == 0 {
		return nil
	}
	return (*list)[0]
}

// grant gives a permit to a waiting request of that weight, if there are both.
func (p *permits) grant(heavy bool) bool {
	w := p.next(heavy)
	if w == nil || !p.free(heavy) {
		return false
	}
	if heavy {
		p.heavy = p.heavy[1:]
	} else {
		p.light = p.light[1:]
	}
	p.waiting.add(-1, heavy)
	p.serving.add(1, heavy)
	close(w.granted)
	return true
}
