package triton

import (
	"context"
	"time"

	pb "retort/orchestrator/triton/inferencepb"
)

// Statistics is what one replica counted for one version of a model since it was loaded.
type Statistics struct {
	Replica, Name, Version string
	LastInference          time.Time
	// Rows were inferred in Executions calls of the backend.
	Rows, Executions uint64
	// Requests and what they spent in all, by outcome and by phase.
	Success, Failure, Queue, Input, Compute, Output Duration
	// Batches counts executions by their number of rows.
	Batches map[uint64]uint64
}

// Duration is a number of events and the time they took together.
type Duration struct {
	Count uint64
	Total time.Duration
}

// Statistics returns them for a model ("" for all) and version ("" for all), replica by replica. A replica that does
// not have the model is left out; it is an error when none has it.
func (a Admin) Statistics(ctx context.Context, name, version string) ([]Statistics, error) {
	var all []Statistics
	err := a.client.each(ctx, "model_statistics", func(ctx context.Context, r *replica, done func(func())) error {
		answer, err := r.service.ModelStatistics(ctx, &pb.ModelStatisticsRequest{Name: name, Version: version})
		done(func() {
			for _, m := range answer.GetModelStats() {
				all = append(all, statisticsFrom(r.address, m))
			}
		})
		return err
	})
	if len(all) > 0 {
		return all, nil
	}
	return nil, err
}

func statisticsFrom(replica string, m *pb.ModelStatistics) Statistics {
	duration := func(d *pb.StatisticDuration) Duration { return Duration{d.GetCount(), time.Duration(d.GetNs())} }
	s := Statistics{
		Replica: replica, Name: m.Name, Version: m.Version,
		Rows: m.InferenceCount, Executions: m.ExecutionCount, Batches: make(map[uint64]uint64),
	}
	i := m.GetInferenceStats()
	s.Success = duration(i.GetSuccess())
	s.Failure = duration(i.GetFail())
	s.Queue = duration(i.GetQueue())
	s.Input = duration(i.GetComputeInput())
	s.Compute = duration(i.GetComputeInfer())
	s.Output = duration(i.GetComputeOutput())
	if m.LastInference > 0 {
		s.LastInference = time.UnixMilli(int64(m.LastInference))
	}
	for _, b := range m.BatchStats {
		s.Batches[b.BatchSize] = b.GetComputeInfer().GetCount()
	}
	return s
}
