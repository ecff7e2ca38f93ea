// Package priority has requests of clients go before work that nobody waits for: lines of batches, long searches.
package priority

import (
	"context"
	"sync"
	"time"
)

// Gate admits background work beside the requests of clients, which pass it without waiting and are only counted. While
// no client asks, all of the places are free. While clients do, so much background work is admitted as leaves the mean
// time of their requests where it is without any: the level goes up a little at a time, and down by a third as soon as
// they take longer. A level below one is the share of time in which one place is taken. Until it is known how long requests
// of a kind take alone, the level goes down to a quarter, which leaves gaps in which they are alone.
type Gate struct {
	most int
	now  func() time.Time

	mu      sync.Mutex
	level   float64
	busy    float64 // the level at the end of the last busy spell
	active  int     // background work under way
	started uint64  // pieces of background work started so far
	rest    time.Time
	asking  int       // requests of clients under way
	last    time.Time // when the last of them began or ended
	ticked  time.Time
	changed chan struct{} // closed and replaced when a place may have become free
	kinds   map[string]*kind
}

// kind are the requests of one kind, whose times are alike.
type kind struct {
	alone  mean      // seconds, of those with no background work beside them
	recent mean      // of all
	asking int       // of them under way
	last   time.Time // when the last of them ended
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

// What moves the level. A simulated machine was tried with these numbers (priority_test.go), and a batch of embeddings
// beside single requests on a machine that other work kept busy: make bench PART=jobs, SPEED.md.
const (
	calm      = 2 * time.Second        // after the last request of a client, background work has all
	tick      = 100 * time.Millisecond // between two looks
	slower    = 1.15                   // how much longer requests may take on average
	least     = 1.0 / 32               // of the level
	cautious  = 1.0 / 4                // upper bound of the level while a kind is unknown
	enough    = 5                      // requests that tell something
	rise      = 1.05                   // per tick
	fall      = 0.7
	longRest  = 5 * time.Second  // the longest pause after one piece of background work
	knownMost = 256              // kinds that are told apart
	current   = 10 * time.Second // a kind of which no request has ended for longer says nothing about now
)

// NewGate returns a gate with so many places.
func NewGate(most int) *Gate {
	return &Gate{most: most, now: time.Now, level: 1, busy: cautious, changed: make(chan struct{}), kinds: map[string]*kind{}}
}

// Request counts a request of a client of a kind, such as a route; ended is called with its end, and whether its time
// tells anything.
func (g *Gate) Request(of string) (ended func(ok bool)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	began := g.now()
	if g.isCalm(began) {
		g.level = min(g.level, g.busy)
	}
	g.asking++
	g.last = began
	k := g.known(of)
	k.asking++
	active := g.active
	started := g.started
	return func(ok bool) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asking--
		k.asking--
		g.last = g.now()
		k.last = g.last
		if !ok {
			return
		}
		took := g.last.Sub(began).Seconds()
		if active == 0 && g.started == started { // no background work ran beside it
			k.alone.add(took)
		}
		k.recent.add(took)
	}
}

// known returns the kind of a name. What is learnt of one beyond the bound is forgotten.
func (g *Gate) known(of string) *kind {
	k := g.kinds[of]
	if k == nil {
		k = &kind{}
		if len(g.kinds) < knownMost {
			g.kinds[of] = k
		}
	}
	return k
}

// isCalm reports whether no client has asked for a while.
func (g *Gate) isCalm(now time.Time) bool { return g.asking == 0 && now.Sub(g.last) > calm }

// Busy reports whether clients ask now, or did a moment ago.
func (g *Gate) Busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.isCalm(g.now())
}

// Level is the number of places now.
func (g *Gate) Level() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.level
}

// Place waits for a place for one piece of background work.
func (g *Gate) Place(ctx context.Context) (release func(), err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g.mu.Lock()
		now := g.now()
		g.look(now)
		if g.active < max(1, int(g.level)) && !now.Before(g.rest) {
			g.active++
			g.started++
			g.mu.Unlock()
			return func() { g.leave(now) }, nil
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

// leave gives a place back. Below a level of one, the next waits so long that the share of time is that of the level.
func (g *Gate) leave(began time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	if g.level < 1 {
		now := g.now()
		pause := time.Duration(float64(now.Sub(began)) * (1/g.level - 1))
		g.rest = now.Add(min(pause, longRest))
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

// look moves the level, at most once a tick.
func (g *Gate) look(now time.Time) {
	if now.Sub(g.ticked) < tick {
		return
	}
	g.ticked = now
	if g.isCalm(now) {
		g.level = min(float64(g.most), max(1, 2*g.level))
		g.rest = time.Time{}
		return
	}
	most := float64(g.most)
	if g.hasUnknownKind(now) {
		most = min(most, cautious)
	}
	switch {
	case g.hurts(now):
		g.level = max(least, fall*g.level)
	case g.level > most:
		g.level = max(most, fall*g.level)
	default:
		g.level = min(most, rise*g.level)
	}
	g.busy = g.level
}

// hurts reports whether requests of some kind take longer than they do alone, of those that clients ask now.
func (g *Gate) hurts(now time.Time) bool {
	for _, k := range g.kinds {
		known := k.alone.count >= enough && k.recent.count >= enough
		if known && k.isCurrent(now) && k.recent.value > slower*k.alone.value {
			return true
		}
	}
	return false
}

// hasUnknownKind reports whether clients now make requests of a kind whose time alone is unknown, because background work ran
// beside nearly all of them.
func (g *Gate) hasUnknownKind(now time.Time) bool {
	for _, k := range g.kinds {
		if k.alone.count < enough && k.recent.count > k.alone.count && k.isCurrent(now) {
			return true
		}
	}
	return false
}

// isCurrent reports whether clients make requests of the kind now, or did a moment ago.
func (k *kind) isCurrent(now time.Time) bool { return k.asking > 0 || now.Sub(k.last) <= current }
