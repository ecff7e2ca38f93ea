// Package fleet has servers of Triton's gRPC protocol that stand in for many Tritons. They listen on sockets of their
// own, but compute nothing.
package fleet

import (
	"context"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "retort/orchestrator/triton/inferencepb"
)

// Kinds of calls that a Fleet counts.
const (
	LiveCall     = "liveness"
	IndexCall    = "index"
	ConfigCall   = "configuration"
	MetadataCall = "metadata"
)

// Fleet is the Tritons. All serve the same models, as replicas with a shared repository do.
type Fleet struct {
	Addresses []string

	repository atomic.Pointer[repository]
	calls      map[string]*atomic.Int64 // by kind
	bytes      atomic.Int64             // of all counted answers
}

// repository is what the Tritons serve. It does not change.
type repository struct {
	index     *pb.RepositoryIndexResponse
	indexSize int64 // bytes
	configs   map[string]*pb.ModelConfig
}

// Inferrer answers the inferences of one Triton.
type Inferrer func(context.Context, *pb.ModelInferRequest) (*pb.ModelInferResponse, error)

// Start starts Tritons that serve models of these configurations in version 1. newInferrer, which may be nil, is called
// once for each Triton.
func Start(tritons int, configs []*pb.ModelConfig, newInferrer func() Inferrer) (*Fleet, error) {
	f := &Fleet{calls: map[string]*atomic.Int64{LiveCall: {}, IndexCall: {}, ConfigCall: {}, MetadataCall: {}}}
	index := &pb.RepositoryIndexResponse{}
	for _, c := range configs {
		index.Models = append(index.Models, &pb.RepositoryIndexResponse_ModelIndex{
			Name: c.Name, Version: "1", State: "READY",
		})
	}
	f.Serve(index, configs)
	for range tritons {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		replica := &server{fleet: f}
		if newInferrer != nil {
			replica.infer = newInferrer()
		}
		s := grpc.NewServer()
		pb.RegisterGRPCInferenceServiceServer(s, replica)
		go func() { _ = s.Serve(listener) }()
		f.Addresses = append(f.Addresses, listener.Addr().String())
	}
	return f, nil
}

// Serve replaces the index and the configurations in all Tritons at once.
func (f *Fleet) Serve(index *pb.RepositoryIndexResponse, configs []*pb.ModelConfig) {
	r := &repository{index: index, indexSize: int64(proto.Size(index)), configs: map[string]*pb.ModelConfig{}}
	for _, c := range configs {
		r.configs[c.Name] = c
	}
	f.repository.Store(r)
}

// Index returns a copy of the index.
func (f *Fleet) Index() *pb.RepositoryIndexResponse {
	return proto.Clone(f.repository.Load().index).(*pb.RepositoryIndexResponse)
}

// Traffic is what all Tritons together have answered so far, inferences left out.
type Traffic struct {
	Calls map[string]int64 // by kind
	Bytes int64
}

// Traffic returns the traffic so far.
func (f *Fleet) Traffic() Traffic {
	t := Traffic{Calls: map[string]int64{}, Bytes: f.bytes.Load()}
	for kind, count := range f.calls {
		t.Calls[kind] = count.Load()
	}
	return t
}

func (f *Fleet) add(kind string, bytes int64) {
	f.calls[kind].Add(1)
	f.bytes.Add(bytes)
}

// server is one Triton.
type server struct {
	pb.UnimplementedGRPCInferenceServiceServer
	fleet *Fleet
	infer Inferrer
}

// ServerLive reports that the Triton is live.
func (s *server) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	s.fleet.add(LiveCall, 2)
	return &pb.ServerLiveResponse{Live: true}, nil
}

// RepositoryIndex lists all models.
func (s *server) RepositoryIndex(context.Context, *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	r := s.fleet.repository.Load()
	s.fleet.add(IndexCall, r.indexSize)
	return r.index, nil
}

// ModelConfig returns the configuration of a model.
func (s *server) ModelConfig(_ context.Context, r *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	config, err := s.config(r.Name)
	if err != nil {
		return nil, err
	}
	answer := &pb.ModelConfigResponse{Config: config}
	s.fleet.add(ConfigCall, int64(proto.Size(answer)))
	return answer, nil
}

// ModelMetadata describes the tensors of a model.
func (s *server) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	config, err := s.config(r.Name)
	if err != nil {
		return nil, err
	}
	answer := &pb.ModelMetadataResponse{Name: r.Name, Versions: []string{"1"}, Platform: "onnxruntime_onnx"}
	for _, t := range config.Input {
		answer.Inputs = append(answer.Inputs, tensor(t))
	}
	for _, t := range config.Output {
		answer.Outputs = append(answer.Outputs, tensor(t))
	}
	s.fleet.add(MetadataCall, int64(proto.Size(answer)))
	return answer, nil
}

// tensor returns the metadata of a tensor with a batch dimension.
func tensor(declared interface {
	GetName() string
	GetDataType() pb.DataType
	GetDims() []int64
}) *pb.ModelMetadataResponse_TensorMetadata {
	return &pb.ModelMetadataResponse_TensorMetadata{
		Name:     declared.GetName(),
		Datatype: declared.GetDataType().String()[len("TYPE_"):],
		Shape:    append([]int64{-1}, declared.GetDims()...),
	}
}

// ModelInfer answers an inference.
func (s *server) ModelInfer(ctx context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	if s.infer == nil {
		return s.UnimplementedGRPCInferenceServiceServer.ModelInfer(ctx, r)
	}
	return s.infer(ctx, r)
}

func (s *server) config(model string) (*pb.ModelConfig, error) {
	config, ok := s.fleet.repository.Load().configs[model]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "Request for unknown model: '%s' is not found", model)
	}
	return config, nil
}
