package triton

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"retort/orchestrator/telemetry"
	pb "retort/orchestrator/triton/inferencepb"
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
	var entries []Entry
	var answered int
	err := c.each(ctx, "repository_index", func(ctx context.Context, r *replica, done func(func())) error {
		answer, err := r.service.RepositoryIndex(ctx, &pb.RepositoryIndexRequest{})
		if err != nil {
			return err
		}
		serves := make(map[string]bool, len(answer.Models))
		for _, m := range answer.Models {
			serves[m.Name] = serves[m.Name] || State(m.State) == Ready
		}
		r.serves.Store(&serves)
		done(func() {
			answered++
			for _, m := range answer.Models {
				entries = append(entries, Entry{r.address, m.Name, m.Version, State(m.State), m.Reason})
			}
		})
		return nil
	})
	if answered > 0 {
		slices.SortFunc(entries, func(a, b Entry) int {
			return cmp.Or(strings.Compare(a.Replica, b.Replica), strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
		})
		return entries, nil
	}
	return nil, err
}

// each runs f against all live replicas at once and returns the first error in their order. f hands its results over
// inside done, one replica at a time.
func (c *Client) each(ctx context.Context, name string, f func(ctx context.Context, r *replica, done func(func())) error) error {
	request := telemetry.FromContext(ctx)
	start := time.Now()
	defer func() { request.AddTriton(time.Since(start)) }()
	ctx, end := c.begin(ctx, name, "")
	replicas := c.pool.live()
	if len(replicas) == 0 {
		return end(errNoReplica())
	}
	var mu sync.Mutex
	done := func(collect func()) { mu.Lock(); defer mu.Unlock(); collect() }
	errs := make([]error, len(replicas))
	var calls sync.WaitGroup
	for i, r := range replicas {
		calls.Go(func() { errs[i] = c.on(r, func() error { return f(ctx, r, done) }) })
	}
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			return end(translate(ctx, err))
		}
	}
	return end(nil)
}
