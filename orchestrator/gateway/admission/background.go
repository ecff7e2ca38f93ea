package admission

import (
	"context"
	"sync"
	"time"
)

// BackgroundGate admits background work beside the requests of clients, which pass without waiting and are only timed.
//
// While no client sends requests, all places are free. Otherwise a control loop sets the level, the number of places in
// use, so that background work does not raise the mean duration of the requests: the level rises by a few percent a
// tick, and falls by almost a third as soon as requests take longer. A level below 1 is the share of time in which a
// single place is in use.
//
// The baseline of a kind of requests is the mean duration of those beside which no background work ran. Until it is
// known, the level is at most a quarter, which leaves gaps in which requests run alone.
type BackgroundGate struct {
	places int
	now    func() time.Time

	mu             sync.Mutex
	level          float64
	busyLevel      float64 // level at the end of the last busy period
	active         int     // background work in progress
	started        uint64  // pieces of background work started so far
	pausedUntil    time.Time
	clientRequests int           // in progress
	lastClient     time.Time     // when the last of them started or ended
	adjusted       time.Time     // when level was last adjusted
	changed        chan struct{} // closed and replaced when a place may have become free
	kinds          map[string]*requestKind
}

// requestKind holds the durations of requests that should take about as long as each other.
type requestKind struct {
	alone      mean // the baseline, in seconds
	recent     mean // seconds, of all requests
	inProgress int
	lastEnd    time.Time
}

// mean is an exponentially weighted mean.
type mean struct {
	value float64
	count int
}

func (m *mean) add(x float64) {
	m.count++
	m.value += (x - m.value) / float64(min(m.count, 20))
}

// The parameters of the control loop. They were tuned on a simulated machine (background_test.go) and on a batch of
// embeddings beside single requests on a busy machine (make bench PART=jobs, SPEED.md).
const (
	idleAfter  = 2 * time.Second        // without a client, after which background work gets all places
	tick       = 100 * time.Millisecond // between adjustments
	tolerance  = 1.15                   // how much longer than alone requests may take on average
	minLevel   = 1.0 / 32
	unknownMax = 1.0 / 4 // upper bound of the level while the baseline of a kind is unknown
	minSamples = 5       // requests from which a mean says something
	riseFactor = 1.05    // per tick
	fallFactor = 0.7
	maxPause   = 5 * time.Second  // after one piece of background work
	maxKinds   = 256              // that are distinguished
	staleAfter = 10 * time.Second // without a request of a kind, after which its means are ignored
)

// NewBackgroundGate returns a gate for at most that many pieces of background work at once.
func NewBackgroundGate(places int) *BackgroundGate {
	return &BackgroundGate{
		places:    places,
		now:       time.Now,
		level:     1,
		busyLevel: unknownMax,
		changed:   make(chan struct{}),
		kinds:     map[string]*requestKind{},
	}
}

// StartRequest counts a request of a client, whose kind is such as a route, until end is called. The duration of a
// request that has failed is not used.
func (g *BackgroundGate) StartRequest(kind string) (end func(ok bool)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	start := g.now()
	if g.isIdle(start) {
		g.level = min(g.level, g.busyLevel)
	}
	g.clientRequests++
	g.lastClient = start
	k := g.kindOf(kind)
	k.inProgress++
	active := g.active
	started := g.started
	return func(ok bool) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.clientRequests--
		k.inProgress--
		g.lastClient = g.now()
		k.lastEnd = g.lastClient
		if !ok {
			return
		}
		seconds := g.lastClient.Sub(start).Seconds()
		if active == 0 && g.started == started { // no background work ran beside it
			k.alone.add(seconds)
		}
		k.recent.add(seconds)
	}
}

// kindOf returns the kind with a name. Beyond maxKinds a new one is not remembered.
func (g *BackgroundGate) kindOf(name string) *requestKind {
	k := g.kinds[name]
	if k == nil {
		k = &requestKind{}
		if len(g.kinds) < maxKinds {
			g.kinds[name] = k
		}
	}
	return k
}

// isIdle reports whether no client has sent a request for a while.
func (g *BackgroundGate) isIdle(now time.Time) bool {
	return g.clientRequests == 0 && now.Sub(g.lastClient) > idleAfter
}

// Level returns how many places may be taken now; below 1, the share of time in which one may be.
func (g *BackgroundGate) Level() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.level
}

// Acquire waits for a place for one piece of background work.
func (g *BackgroundGate) Acquire(ctx context.Context) (release func(), err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g.mu.Lock()
		now := g.now()
		g.adjust(now)
		if g.active < max(1, int(g.level)) && !now.Before(g.pausedUntil) {
			g.active++
			g.started++
			g.mu.Unlock()
			return func() { g.release(now) }, nil
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		case <-time.After(tick):
		}
	}
}

// release returns the place of a piece of work. If the level is below 1, the pause after it makes the work's share of
// time equal to the level.
func (g *BackgroundGate) release(start time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	if g.level < 1 {
		now := g.now()
		pause := time.Duration(float64(now.Sub(start)) * (1/g.level - 1))
		g.pausedUntil = now.Add(min(pause, maxPause))
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

// adjust moves the level, at most once a tick.
func (g *BackgroundGate) adjust(now time.Time) {
	if now.Sub(g.adjusted) < tick {
		return
	}
	g.adjusted = now
	if g.isIdle(now) {
		g.level = min(float64(g.places), max(1, 2*g.level))
		g.pausedUntil = time.Time{}
		return
	}
	upper := float64(g.places)
	if g.hasUnknownKind(now) {
		upper = min(upper, unknownMax)
	}
	switch {
	case g.isSlowed(now):
		g.level = max(minLevel, fallFactor*g.level)
	case g.level > upper:
		g.level = max(upper, fallFactor*g.level)
	default:
		g.level = min(upper, riseFactor*g.level)
	}
	g.busyLevel = g.level
}

// isSlowed reports whether requests of a current kind take longer than they do alone.
func (g *BackgroundGate) isSlowed(now time.Time) bool {
	for _, k := range g.kinds {
		isKnown := k.alone.count >= minSamples && k.recent.count >= minSamples
		if isKnown && k.isCurrent(now) && k.recent.value > tolerance*k.alone.value {
			return true
		}
	}
	return false
}

// hasUnknownKind reports whether a current kind has no baseline, because background work ran beside nearly all of its
// requests.
func (g *BackgroundGate) hasUnknownKind(now time.Time) bool {
	for _, k := range g.kinds {
		if k.alone.count < minSamples && k.recent.count > k.alone.count && k.isCurrent(now) {
			return true
		}
	}
	return false
}

// isCurrent reports whether clients make requests of the kind now, or did a moment ago.
func (k *requestKind) isCurrent(now time.Time) bool {
	return k.inProgress > 0 || now.Sub(k.lastEnd) <= staleAfter
}
