package main

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "retort/orchestrator/triton/inferencepb"
)

// Kinds of calls.
const (
	liveCall     = "liveness"
	indexCall    = "index"
	configCall   = "configuration"
	metadataCall = "metadata"
)

// fleet is the Tritons. They serve the same models, as replicas with a shared repository do.
type fleet struct {
	pb.UnimplementedGRPCInferenceServiceServer
	addresses []string
	index     atomic.Pointer[pb.RepositoryIndexResponse]
	indexSize atomic.Int64             // bytes
	delay     atomic.Uint64            // the models' queue delay in microseconds
	calls     map[string]*atomic.Int64 // by kind
	bytes     atomic.Int64             // of all answers
}

// updatedModel is the model that gets a new version.
const updatedModel = "model_0000"

func newFleet(tritons, count int) (*fleet, error) {
	f := &fleet{calls: map[string]*atomic.Int64{liveCall: {}, indexCall: {}, configCall: {}, metadataCall: {}}}
	f.delay.Store(100)
	models := &pb.RepositoryIndexResponse{}
	for i := range count {
		models.Models = append(models.Models, &pb.RepositoryIndexResponse_ModelIndex{
			Name: fmt.Sprintf("model_%04d", i), Version: "1", State: "READY",
		})
	}
	f.serve(models)
	for range tritons {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		server := grpc.NewServer()
		pb.RegisterGRPCInferenceServiceServer(server, f)
		go func() { _ = server.Serve(listener) }()
		f.addresses = append(f.addresses, listener.Addr().String())
	}
	return f, nil
}

func (f *fleet) serve(index *pb.RepositoryIndexResponse) {
	f.indexSize.Store(int64(proto.Size(index)))
	f.index.Store(index)
}

// addVersion replaces the version of updatedModel in all Tritons.
func (f *fleet) addVersion() {
	index := proto.Clone(f.index.Load()).(*pb.RepositoryIndexResponse)
	for _, m := range index.Models {
		if m.Name == updatedModel {
			m.Version = "2"
		}
	}
	f.serve(index)
}

// reconfigure changes the configuration of every model without a new version, which the index does not show.
func (f *fleet) reconfigure() { f.delay.Store(200) }

// traffic is what all Tritons together have answered so far.
type traffic struct {
	calls map[string]int64 // by kind
	bytes int64
}

func (f *fleet) traffic() traffic {
	t := traffic{calls: map[string]int64{}, bytes: f.bytes.Load()}
	for kind, count := range f.calls {
		t.calls[kind] = count.Load()
	}
	return t
}

func (f *fleet) add(kind string, bytes int64) {
	f.calls[kind].Add(1)
	f.bytes.Add(bytes)
}

// ServerLive reports that the Triton is live.
func (f *fleet) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	f.add(liveCall, 2)
	return &pb.ServerLiveResponse{Live: true}, nil
}

// RepositoryIndex lists all models.
func (f *fleet) RepositoryIndex(context.Context, *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	f.add(indexCall, f.indexSize.Load())
	return f.index.Load(), nil
}

// ModelConfig describes a small model of embeddings.
func (f *fleet) ModelConfig(_ context.Context, r *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	answer := &pb.ModelConfigResponse{Config: &pb.ModelConfig{
		Name:         r.Name,
		Backend:      "onnxruntime",
		MaxBatchSize: 64,
		Input:        []*pb.ModelInput{{Name: "input_ids", DataType: pb.DataType_TYPE_INT64, Dims: []int64{-1}}},
		Output:       []*pb.ModelOutput{{Name: "embedding", DataType: pb.DataType_TYPE_FP32, Dims: []int64{384}}},
		SchedulingChoice: &pb.ModelConfig_DynamicBatching{
			DynamicBatching: &pb.ModelDynamicBatching{MaxQueueDelayMicroseconds: f.delay.Load()},
		},
		Parameters: map[string]*pb.ModelParameter{
			"retort_api": {StringValue: "embedding"},
			"model_id":   {StringValue: "bench/" + r.Name},
		},
	}}
	f.add(configCall, int64(proto.Size(answer)))
	return answer, nil
}

// ModelMetadata describes the same model.
func (f *fleet) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	type tensor = pb.ModelMetadataResponse_TensorMetadata
	answer := &pb.ModelMetadataResponse{
		Name:     r.Name,
		Versions: []string{"1"},
		Platform: "onnxruntime_onnx",
		Inputs:   []*tensor{{Name: "input_ids", Datatype: "INT64", Shape: []int64{-1, -1}}},
		Outputs:  []*tensor{{Name: "embedding", Datatype: "FP32", Shape: []int64{-1, 384}}},
	}
	f.add(metadataCall, int64(proto.Size(answer)))
	return answer, nil
}
