package admission

import (
	"sync"
	"time"

	"retort/orchestrator/fault"
)

// WatchLimits bounds the open watches of an API. They take no permit and may last as long as the job that they report
// on. 0: no bound.
type WatchLimits struct {
	Total     int // of all clients
	PerClient int // of one key or, if no key is required, one address
}

// Watches counts the open watches of one API.
type Watches struct {
	limits WatchLimits

	mu       sync.Mutex
	total    int
	byClient map[string]int // no entry for a client without watches
}

// NewWatches returns a counter that holds limits.
func NewWatches(limits WatchLimits) *Watches {
	return &Watches{limits: limits, byClient: map[string]int{}}
}

// watchRetryAfter is the Retry-After of a refused watch.
const watchRetryAfter = 10 * time.Second

// Enter counts a watch of a client until leave is called, or returns a TooMany fault.
func (w *Watches) Enter(client string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	isFull := func(limit, open int) bool { return limit > 0 && open >= limit }
	reason := ""
	switch {
	case isFull(w.limits.PerClient, w.byClient[client]):
		reason = "You have too many event streams open: close one, or request the job itself."
	case isFull(w.limits.Total, w.total):
		reason = "Too many event streams are open: try again later, or request the job itself."
	}
	if reason != "" {
		return nil, &fault.Error{Kind: fault.TooMany, Message: reason, RetryAfter: watchRetryAfter}
	}
	w.total++
	w.byClient[client]++
	return func() { w.leave(client) }, nil
}

func (w *Watches) leave(client string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total--
	if w.byClient[client]--; w.byClient[client] == 0 {
		delete(w.byClient, client)
	}
}
