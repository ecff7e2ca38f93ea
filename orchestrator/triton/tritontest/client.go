package tritontest

import (
	"context"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
)

// ProbeEvery is the default of Dial: short, so that tests detect changes of a server fast.
const ProbeEvery = 20 * time.Millisecond

// Dial returns a client. It closes the client when the test ends.
func Dial(tb testing.TB, c triton.Config) *triton.Client {
	tb.Helper()
	if c.ProbeEvery == 0 {
		c.ProbeEvery = ProbeEvery
	}
	client, err := triton.Dial(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

// Client returns a client of the server. It closes the client when the test ends.
func (s *Server) Client() *triton.Client {
	s.tb.Helper()
	return Dial(s.tb, triton.Config{URLs: []string{s.URL()}})
}

// Wait returns the first snapshot, from the current one on, that meets a condition. Earlier followers of the registry
// are notified before the condition is checked, so it may depend on what they derive from the snapshot.
func Wait(
	ctx context.Context, r *discovery.Registry, meets func(*discovery.Snapshot) bool,
) (*discovery.Snapshot, error) {
	met := make(chan *discovery.Snapshot, 1)
	stop := r.Follow(func(s *discovery.Snapshot) {
		if meets(s) {
			select {
			case met <- s:
			default:
			}
		}
	})
	defer stop()
	select {
	case s := <-met:
		return s, nil
	case <-ctx.Done():
		return nil, fault.As(ctx.Err())
	}
}

// Eventually waits until a condition holds, and fails the test after a minute.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within a minute: %s", what)
		}
	}
}
