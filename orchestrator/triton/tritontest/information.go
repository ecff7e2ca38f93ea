package tritontest

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
)

// ModelMetadata answers what the configuration declares, with the batch dimension in front where there is one.
func (s *Server) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	v, _, err := s.find(r.Name, r.Version)
	if err != nil {
		return nil, err
	}
	config := triton.ConfigFrom(v.model.Config)
	m := &pb.ModelMetadataResponse{Name: r.Name, Platform: config.Platform}
	if m.Platform == "" {
		m.Platform = config.Backend
	}
	s.mu.Lock()
	for _, number := range slices.Sorted(maps.Keys(s.loaded[r.Name].versions)) {
		if s.loaded[r.Name].versions[number].state == triton.Ready {
			m.Versions = append(m.Versions, number)
		}
	}
	s.mu.Unlock()
	m.Inputs = declarations(config.Inputs, config.MaxBatch)
	m.Outputs = declarations(config.Outputs, config.MaxBatch)
	return m, nil
}

func declarations(tensors []triton.TensorInfo, maxBatch int) []*pb.ModelMetadataResponse_TensorMetadata {
	var out []*pb.ModelMetadataResponse_TensorMetadata
	for _, t := range tensors {
		shape := t.Shape
		if maxBatch > 0 {
			shape = append([]int64{-1}, shape...)
		}
		out = append(out, &pb.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: string(t.Datatype), Shape: shape})
	}
	return out
}

// ModelStatistics answers what ready versions counted since they were loaded.
func (s *Server) ModelStatistics(_ context.Context, r *pb.ModelStatisticsRequest) (*pb.ModelStatisticsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &pb.ModelStatisticsResponse{}
	for _, name := range slices.Sorted(maps.Keys(s.loaded)) {
		if r.Name != "" && r.Name != name {
			continue
		}
		for number, v := range s.loaded[name].versions {
			if v.state == triton.Ready && (r.Version == "" || r.Version == number) {
				answer.ModelStats = append(answer.ModelStats, v.statistics(name, number))
			}
		}
	}
	if r.Name != "" && len(answer.ModelStats) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "requested model '%s' is not available", r.Name)
	}
	return answer, nil
}

func (c *counts) statistics(name, number string) *pb.ModelStatistics {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &pb.ModelStatistics{
		Name: name, Version: number, InferenceCount: c.rows, ExecutionCount: c.success,
		InferenceStats: &pb.InferStatistics{
			Success:      &pb.StatisticDuration{Count: c.success, Ns: uint64(c.queue + c.compute)},
			Fail:         &pb.StatisticDuration{Count: c.failure},
			Queue:        &pb.StatisticDuration{Count: c.success, Ns: uint64(c.queue)},
			ComputeInfer: &pb.StatisticDuration{Count: c.success, Ns: uint64(c.compute)},
		},
	}
	if !c.last.IsZero() {
		m.LastInference = uint64(c.last.UnixMilli())
	}
	for _, size := range slices.Sorted(maps.Keys(c.sizes)) {
		m.BatchStats = append(m.BatchStats, &pb.InferBatchStatistics{
			BatchSize: size, ComputeInfer: &pb.StatisticDuration{Count: c.sizes[size]}})
	}
	return m
}
