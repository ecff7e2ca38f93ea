package main

import (
	"context"
	"time"

	"retort-cluster-test/load"
)

// cost measures the processor time of a request of each kind in the gateways and the Tritons, with four clients and no
// other load.
func (s *suite) cost(ctx context.Context) error {
	for _, kind := range load.Kinds {
		gateway, triton, err := s.processorTime(ctx)
		if err != nil {
			return err
		}
		begun := time.Now()
		clients := load.Start(ctx, load.Options{Address: outside, Clients: 4, Kinds: []load.Kind{kind}})
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
		clients.Stop()
		results := clients.Between(begun, time.Now())
		gatewayAfter, tritonAfter, err := s.processorTime(ctx)
		if err != nil {
			return err
		}
		count := time.Duration(max(len(results), 1))
		s.print("cost", "%s: %d requests, each %v of a core in the gateways and %v in the Tritons", kind.Name,
			len(results), ((gatewayAfter - gateway) / count).Round(10*time.Microsecond),
			((tritonAfter - triton) / count).Round(10*time.Microsecond))
		if err := noneFailed(results, begun); err != nil {
			return err
		}
	}
	return nil
}

// processorTime returns what the pods of both components have used so far.
func (s *suite) processorTime(ctx context.Context) (gateway, triton time.Duration, err error) {
	for component, total := range map[string]*time.Duration{"gateway": &gateway, "triton": &triton} {
		pods, err := s.readyPods(ctx, component)
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
