package triton

import (
	"context"
	"sync"
	"time"

	"retort/orchestrator/telemetry"
)

// State is what Triton says of a version of a model.
type State string

// The states. A model of the repository that was never loaded has none.
const (
	Ready       State = "READY"
	Loading     State = "LOADING"
	Unloading   State = "UNLOADING"
	Unavailable State = "UNAVAILABLE"
)

// Entry is one line of a repository index.
type Entry struct {
	// Replica is the address of the server that said it.
	Replica       string
	Name, Version string
	State         State
	// Reason says why it is UNAVAILABLE: "unloaded", or what went wrong.
	Reason string
}

// Index returns what the repository of every live replica holds, by replica, name and version. It fails only when none
// answers. Calls prefer replicas whose last index had the model ready.
func (c *Client) Index(ctx context.Context) ([]Entry, error) {
	replicas := c.pool.live()
	_, answered, err := c.list(ctx, replicas)
	if answered == 0 {
		return nil, err
	}
	return entriesOf(replicas), nil
}

// each runs f against all live replicas at once and returns the first error in their order. f hands its results over
// inside done, one replica at a time.
func (c *Client) each(ctx context.Context, name string, f func(ctx context.Context, r *replica, done func(func())) error) error {
	var mu sync.Mutex
	done := func(collect func()) { mu.Lock(); defer mu.Unlock(); collect() }
	return c.eachOf(ctx, name, c.pool.live(), func(ctx context.Context, r *replica) error { return f(ctx, r, done) })
}

// eachOf runs f against replicas at once and returns the first error in their order.
func (c *Client) eachOf(ctx context.Context, name string, replicas []*replica, f func(ctx context.Context, r *replica) error) error {
	request := telemetry.FromContext(ctx)
	start := time.Now()
	defer func() { request.AddTriton(time.Since(start)) }()
	ctx, end := c.begin(ctx, name, "")
	if len(replicas) == 0 {
		return end(errNoReplica())
	}
	errs := make([]error, len(replicas))
	var calls sync.WaitGroup
	for i, r := range replicas {
		calls.Go(func() { errs[i] = c.on(r, func() error { return f(ctx, r) }) })
	}
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			return end(translate(ctx, err))
		}
	}
	return end(nil)
}
