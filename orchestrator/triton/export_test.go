package triton

import "context"

// ReplicaState is the state of one replica.
type ReplicaState struct {
	Address  string
	IsLive   bool
	InFlight int
}

// States returns the states of all replicas of a client.
func States(c *Client) []ReplicaState {
	var states []ReplicaState
	for _, r := range *c.pool.replicas.Load() {
		states = append(states, ReplicaState{r.address, r.down.Load() == nil, int(r.inflight.Load())})
	}
	return states
}

// InFlight returns the number of calls in flight on all replicas.
func InFlight(c *Client) int {
	n := 0
	for _, s := range States(c) {
		n += s.InFlight
	}
	return n
}

// ProbeOften probes a model 20 times on one live replica and returns the first error.
func ProbeOften(ctx context.Context, c *Client, model string) error {
	h := &health{}
	for range 20 {
		if err := c.Live()[0].probeModel(ctx, model, h); err != nil {
			return err
		}
	}
	return nil
}
