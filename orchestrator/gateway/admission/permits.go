package admission

import (
	"context"
	"slices"
	"sync"
	"time"

	"retort/orchestrator/fault"
)

// Permits bounds the requests of one API: at most concurrency are served at once, at most queue more wait, and all
// others are refused. Heavy requests get at most three quarters of both, so that light ones are served beside any
// number of them.
type Permits struct {
	api                string
	concurrency, queue int
	metrics            Meter

	mu          sync.Mutex
	served      int // of any weight
	servedHeavy int
	light       waiters
	heavy       waiters
	background  waiters // not counted in queue: the workers bound their number
}

// waiters are the requests that wait for a permit, by arrival. A channel is closed when its request gets one.
type waiters []chan struct{}

// Meter counts the requests of an API that wait.
type Meter interface {
	AddWaiting(api string, n int)
}

// NewPermits returns the permits of an API.
func NewPermits(api string, concurrency, queue int, metrics Meter) *Permits {
	return &Permits{api: api, concurrency: concurrency, queue: queue, metrics: metrics}
}

// heavyShare is the part of n that heavy requests may take. It is at least 1 if n is.
func heavyShare(n int) int { return max(min(n, 1), n*3/4) }

// Acquire waits for a permit, or returns an Overloaded fault at once if the queue is full.
func (p *Permits) Acquire(ctx context.Context, heavy bool) (release func(), err error) {
	queue := p.queueOf(heavy)
	p.mu.Lock()
	if len(*queue) == 0 && p.hasRoom(heavy) {
		p.add(1, heavy)
		p.mu.Unlock()
		return func() { p.release(heavy) }, nil
	}
	if len(p.light)+len(p.heavy) >= p.queue || heavy && len(p.heavy) >= heavyShare(p.queue) {
		p.mu.Unlock()
		return nil, &fault.Error{
			Kind:       fault.Overloaded,
			Message:    "The service is at its capacity, try again later.",
			RetryAfter: time.Second,
		}
	}
	granted := make(chan struct{})
	*queue = append(*queue, granted)
	p.mu.Unlock()
	p.metrics.AddWaiting(p.api, 1)
	defer p.metrics.AddWaiting(p.api, -1)
	return p.await(ctx, granted, queue, heavy)
}

// AcquireBackground waits for a permit that no client waits for. Background work counts as heavy and is never refused.
func (p *Permits) AcquireBackground(ctx context.Context) (release func(), err error) {
	granted := make(chan struct{})
	p.mu.Lock()
	p.background = append(p.background, granted)
	p.grantBackground()
	p.mu.Unlock()
	return p.await(ctx, granted, &p.background, true)
}

// await waits until a request of queue gets its permit, or takes it off the queue when ctx ends.
func (p *Permits) await(ctx context.Context, granted chan struct{}, queue *waiters, heavy bool) (func(), error) {
	release := func() { p.release(heavy) }
	select {
	case <-granted:
		return release, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(*queue, granted)
	if i < 0 { // granted in the meantime
		return release, nil
	}
	*queue = slices.Delete(*queue, i, i+1)
	p.grantBackground()
	return nil, ctx.Err()
}

// release returns a permit and grants what has become free. If heavy requests hold less than half of the permits, they
// are granted first, so that a constant stream of light ones does not starve them.
func (p *Permits) release(heavy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(-1, heavy)
	heavyFirst := p.servedHeavy < p.concurrency/2
	for p.grant(p.queueOf(heavyFirst), heavyFirst) || p.grant(p.queueOf(!heavyFirst), !heavyFirst) {
	}
	p.grantBackground()
}

// grantBackground grants the permits that no client waits for to background work.
func (p *Permits) grantBackground() {
	for len(p.light) == 0 && len(p.heavy) == 0 && p.grant(&p.background, true) {
	}
}

// grant gives a permit to the first of queue and reports whether there were both.
func (p *Permits) grant(queue *waiters, heavy bool) bool {
	if len(*queue) == 0 || !p.hasRoom(heavy) {
		return false
	}
	close((*queue)[0])
	*queue = (*queue)[1:]
	p.add(1, heavy)
	return true
}

// hasRoom reports whether one more request of the weight may be served.
func (p *Permits) hasRoom(heavy bool) bool {
	return p.served < p.concurrency && (!heavy || p.servedHeavy < heavyShare(p.concurrency))
}

func (p *Permits) queueOf(heavy bool) *waiters {
	if heavy {
		return &p.heavy
	}
	return &p.light
}

func (p *Permits) add(n int, heavy bool) {
	p.served += n
	if heavy {
		p.servedHeavy += n
	}
}
