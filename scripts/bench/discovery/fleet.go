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

// The kinds of calls that are counted.
const (
	live     = "liveness"
	index    = "index"
	config   = "configuration"
	metadata = "metadata"
)

// fleet are the Tritons. They share what they serve, as those of one repository do.
type fleet struct {
	pb.UnimplementedGRPCInferenceServiceServer
	addresses []string
	served    atomic.Pointer[pb.RepositoryIndexResponse]
	length    atomic.Int64 // of the index, in bytes
	delay     atomic.Uint64
	counts    map[string]*atomic.Int64
	bytes     atomic.Int64
}

// changed is the model that changes.
const changed = "model_0000"

func newFleet(tritons, models int) (*fleet, error) {
	f := &fleet{counts: map[string]*atomic.Int64{live: {}, index: {}, config: {}, metadata: {}}}
	f.delay.Store(100)
	first := &pb.RepositoryIndexResponse{}
	for i := range models {
		first.Models = append(first.Models, &pb.RepositoryIndexResponse_ModelIndex{
			Name: fmt.Sprintf("model_%04d", i), Version: "1", State: "READY",
		})
	}
	f.serve(first)
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

func (f *fleet) serve(models *pb.RepositoryIndexResponse) {
	f.length.Store(int64(proto.Size(models)))
	f.served.Store(models)
}

// addVersion replaces a version of one model everywhere.
func (f *fleet) addVersion() {
	now := proto.Clone(f.served.Load()).(*pb.RepositoryIndexResponse)
	for _, m := range now.Models {
		if m.Name == changed {
			m.Version = "2"
		}
	}
	f.serve(now)
}

// reconfigure loads the same version of every model with another configuration, which no index shows.
func (f *fleet) reconfigure() { f.delay.Store(200) }

// tally is what was counted so far.
type tally struct {
	calls map[string]int64
	bytes int64
}

func (f *fleet) count() tally {
	t := tally{calls: map[string]int64{}, bytes: f.bytes.Load()}
	for kind, count := range f.counts {
		t.calls[kind] = count.Load()
	}
	return t
}

func (f *fleet) add(kind string, bytes int64) {
	f.counts[kind].Add(1)
	f.bytes.Add(bytes)
}

// ServerLive answers yes.
func (f *fleet) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	f.add(live, 2)
	return &pb.ServerLiveResponse{Live: true}, nil
}

// RepositoryIndex lists all models.
func (f *fleet) RepositoryIndex(context.Context, *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	f.add(index, f.length.Load())
	return f.served.Load(), nil
}

// ModelConfig is one of a small model.
func (f *fleet) ModelConfig(_ context.Context, r *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	answer := &pb.ModelConfigResponse{Config: &pb.ModelConfig{
		Name: r.Name, Backend: "onnxruntime", MaxBatchSize: 64,
		Input:            []*pb.ModelInput{{Name: "input_ids", DataType: pb.DataType_TYPE_INT64, Dims: []int64{-1}}},
		Output:           []*pb.ModelOutput{{Name: "embedding", DataType: pb.DataType_TYPE_FP32, Dims: []int64{384}}},
		SchedulingChoice: &pb.ModelConfig_DynamicBatching{DynamicBatching: &pb.ModelDynamicBatching{MaxQueueDelayMicroseconds: f.delay.Load()}},
		Parameters: map[string]*pb.ModelParameter{"retort_api": {StringValue: "embedding"},
			"model_id": {StringValue: "bench/" + r.Name}},
	}}
	f.add(config, int64(proto.Size(answer)))
	return answer, nil
}

// ModelMetadata is that of the same model.
func (f *fleet) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	answer := &pb.ModelMetadataResponse{
		Name: r.Name, Versions: []string{"1"}, Platform: "onnxruntime_onnx",
		Inputs: []*pb.ModelMetadataResponse_TensorMetadata{{Name: "input_ids", Datatype: "INT64",
			Shape: []int64{-1, -1}}},
		Outputs: []*pb.ModelMetadataResponse_TensorMetadata{{Name: "embedding", Datatype: "FP32",
			Shape: []int64{-1, 384}}},
	}
	f.add(metadata, int64(proto.Size(answer)))
	return answer, nil
}
