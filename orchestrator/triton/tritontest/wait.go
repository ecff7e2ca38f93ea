package tritontest

import (
	"context"

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
