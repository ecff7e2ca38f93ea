package tritontest

import (
	"context"
	"slices"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// Wait returns the first snapshot, from the present one on, that fulfils a condition. The condition is asked after
// those who followed before Wait have been told of the snapshot, and so may be one on what they make of it.
func Wait(ctx context.Context, r *triton.Registry, fulfils func(*triton.Snapshot) bool) (*triton.Snapshot, error) {
	seen := make(chan *triton.Snapshot, 1)
	stop := r.Follow(func(s *triton.Snapshot) {
		if fulfils(s) {
			select {
			case seen <- s:
			default:
			}
		}
	})
	defer stop()
	select {
	case s := <-seen:
		return s, nil
	case <-ctx.Done():
		return nil, fault.As(ctx.Err())
	}
}

// Unloaded gives a server time to let go of a model that was told to be unloaded: the call returns as soon as no new
// request is taken, and files that are taken away, or another model that is loaded, while it still unloads may end a real
// server (seen once with 24.10). One that keeps a request of a call that was cancelled never lets go: that is waited for no
// longer than a while.
func Unloaded(client *triton.Client, name string) {
	going := func() bool {
		entries, err := client.Index(context.Background())
		return err == nil && slices.ContainsFunc(entries, func(e triton.Entry) bool { return e.Name == name && e.State == triton.Unloading })
	}
	for until := time.Now().Add(5 * time.Second); going() && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
}
