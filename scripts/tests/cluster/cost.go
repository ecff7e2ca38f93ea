package main

import (
	"context"
	"time"

	"retort-cluster-test/load"
)

// cost measures the processor time that one request of each kind costs the gateways and the Tritons, with four clients
// at once and nothing else.
func (s *suite) cost(ctx context.Context) error {
	for _, kind := range load.Kinds {
		gateway, triton, err := s.used(ctx)
		if err != nil {
			return err
		}
		from := time.Now()
		alone := load.Start(ctx, load.Options{Address: outside, Clients: 4, Kinds: []load.Kind{kind}})
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
		alone.Stop()
		results := alone.Between(from, time.Now())
		gatewayAfter, tritonAfter, err := s.used(ctx)
		if err != nil {
			return err
		}
		count := time.Duration(max(len(results), 1))
		s.say("cost", "%s: %d requests, each %v of a core in the gateways and %v in the Tritons", kind.Name,
			len(results),
			((gatewayAfter - gateway) / count).Round(10*time.Microsecond), ((tritonAfter - triton) / count).Round(10*time.Microsecond))
		if err := none(results, from); err != nil {
			return err
		}
	}
	return nil
}

// used is the processor time that the pods of both components have used so far.
func (s *suite) used(ctx context.Context) (gateway, triton time.Duration, err error) {
	for component, total := range map[string]*time.Duration{"gateway": &gateway, "triton": &triton} {
		pods, err := s.ready(ctx, component)
		if err != nil {
			return 0, 0, err
		}
		for _, p := range pods {
			used, err := s.cluster.node.CPU(p.Name)
			if err != nil {
				return 0, 0, err
			}
			*total += used
		}
	}
	return gateway, triton, nil
}
