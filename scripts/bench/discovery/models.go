package main

import (
	"fmt"

	pb "retort/orchestrator/triton/inferencepb"
	"retort/scripts/bench/fleet"
)

// updatedModel is the model that gets a new version.
const updatedModel = "model_0000"

// Queue delays of all models, in microseconds.
const (
	firstDelay = 100
	nextDelay  = 200
)

// configs are the configurations of small models of embeddings.
func configs(count int, delay uint64) []*pb.ModelConfig {
	all := make([]*pb.ModelConfig, count)
	for i := range all {
		name := fmt.Sprintf("model_%04d", i)
		all[i] = &pb.ModelConfig{
			Name:         name,
			Backend:      "onnxruntime",
			MaxBatchSize: 64,
			Input:        []*pb.ModelInput{{Name: "input_ids", DataType: pb.DataType_TYPE_INT64, Dims: []int64{-1}}},
			Output:       []*pb.ModelOutput{{Name: "embedding", DataType: pb.DataType_TYPE_FP32, Dims: []int64{384}}},
			SchedulingChoice: &pb.ModelConfig_DynamicBatching{
				DynamicBatching: &pb.ModelDynamicBatching{MaxQueueDelayMicroseconds: delay},
			},
			Parameters: map[string]*pb.ModelParameter{
				"retort_api": {StringValue: "embedding"},
				"model_id":   {StringValue: "bench/" + name},
			},
		}
	}
	return all
}

// addVersion replaces the version of updatedModel in all Tritons.
func addVersion(f *fleet.Fleet, models int) {
	index := f.Index()
	for _, m := range index.Models {
		if m.Name == updatedModel {
			m.Version = "2"
		}
	}
	f.Serve(index, configs(models, firstDelay))
}

// reconfigure changes the configuration of every model without a new version, which the index does not show.
func reconfigure(f *fleet.Fleet, models int) { f.Serve(f.Index(), configs(models, nextDelay)) }
