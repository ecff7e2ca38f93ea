package gateway

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// Watches bounds the streams of Watch that an API has open: they take no permit, since they do no work, and last as long
// as what they tell of. 0 is no bound.
type Watches struct {
	All       int // of all clients
	PerClient int // of one key or, where no key is asked for, one address
}

// watches are the open streams of one API.
type watches struct {
	bound Watches

	mu  sync.Mutex
	all int
	of  map[string]int // by client; without those that have none
}

func newWatches(bound Watches) *watches { return &watches{bound: bound, of: map[string]int{}} }

// watchRetry is when a client that was refused a stream may ask again.
const watchRetry = 10 * time.Second

// enter counts a stream of a client until leave is called, or refuses it.
func (w *watches) enter(client string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	full := func(bound, open int) bool { return bound > 0 && open >= bound }
	reason := ""
	switch {
	case full(w.bound.PerClient, w.of[client]):
		reason = "You have too many streams of events open: close one, or ask for the job itself."
	case full(w.bound.All, w.all):
		reason = "Too many streams of events are open: try again later, or ask for the job itself."
	}
	if reason != "" {
		return nil, &fault.Error{Kind: fault.TooMany, Message: reason, RetryAfter: watchRetry}
	}
	w.all++
	w.of[client]++
	return func() { w.leave(client) }, nil
}

func (w *watches) leave(client string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all--
	if w.of[client]--; w.of[client] == 0 {
		delete(w.of, client)
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

// client tells clients apart: by their keys, or else by their addresses, of which one client has all with the same first
// 64 bits in IPv6.
func client(ctx context.Context, c *fiber.Ctx) string {
	if caller := Caller(ctx); caller != "" {
		return caller
	}
	return network(c.Context().RemoteIP())
}

func network(ip []byte) string {
	address, ok := netip.AddrFromSlice(ip)
	if !ok {
		return ""
	}
	address = address.Unmap()
	if address.Is6() {
		prefix, _ := address.Prefix(64) // of an address of 128 bits, which cannot fail
		return prefix.String()
	}
	return address.String()
}
