package gateway

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// Watches bounds the open streams of an API's Watch endpoints. They take no permit, since they do no work, and may last as
// long as the job that they report on. 0: no bound.
type Watches struct {
	All       int // of all clients
	PerClient int // of one key or, where no key is asked for, one address
}

// watches are the open streams of one API.
type watches struct {
	bound Watches

	mu       sync.Mutex
	total    int
	byClient map[string]int // no entry for a client without streams
}

func newWatches(bound Watches) *watches { return &watches{bound: bound, byClient: map[string]int{}} }

// watchRetry is the Retry-After of a refused stream.
const watchRetry = 10 * time.Second

// enter counts a stream of a client until leave is called, or refuses it.
func (w *watches) enter(client string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	full := func(bound, open int) bool { return bound > 0 && open >= bound }
	reason := ""
	switch {
	case full(w.bound.PerClient, w.byClient[client]):
		reason = "You have too many event streams open: close one, or request the job itself."
	case full(w.bound.All, w.total):
		reason = "Too many event streams are open: try again later, or request the job itself."
	}
	if reason != "" {
		return nil, &fault.Error{Kind: fault.TooMany, Message: reason, RetryAfter: watchRetry}
	}
	w.total++
	w.byClient[client]++
	return func() { w.leave(client) }, nil
}

func (w *watches) leave(client string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total--
	if w.byClient[client]--; w.byClient[client] == 0 {
		delete(w.byClient, client)
	}
}

// watch counts the exchange among the streams of its client.
func (x *exchange) watch(ctx context.Context, c *fiber.Ctx) error {
	leave, err := x.gateway.watches.enter(client(ctx, c))
	if err != nil {
		x.gateway.opts.Metrics.Refused(x.request.API)
		return err
	}
	x.atEnd(leave)
	return nil
}

// client identifies the client of a request: by its key, or else by its network.
func client(ctx context.Context, c *fiber.Ctx) string {
	if caller := Caller(ctx); caller != "" {
		return caller
	}
	return network(c.Context().RemoteIP())
}

// network is an IPv4 address, or the /64 prefix of an IPv6 address: one client may have all of that.
func network(ip []byte) string {
	address, ok := netip.AddrFromSlice(ip)
	if !ok {
		return ""
	}
	address = address.Unmap()
	if address.Is6() {
		prefix, _ := address.Prefix(64) // cannot fail: the address has 128 bits
		return prefix.String()
	}
	return address.String()
}
