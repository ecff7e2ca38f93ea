package tritontest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
)

// loadedModel is a model that was loaded at least once.
type loadedModel struct {
	versions map[string]*version // by number
}

type version struct {
	state   string
	reason  string
	model   *Model        // the form that was loaded
	permits chan struct{} // with a capacity of the number of instances
	waiting atomic.Int64
}

func newVersion(m *Model) *version {
	instances := triton.ConfigFrom(m.Config).Concurrency()
	return &version{state: ready, model: m, permits: make(chan struct{}, instances)}
}

// The states of a version in the repository index.
const (
	ready       = "READY"
	unloading   = "UNLOADING"
	unavailable = "UNAVAILABLE"
)

// reasonUnloaded is Triton's reason for a version that it has unloaded.
const reasonUnloaded = "unloaded"

// Put adds a model to the repository or replaces it, without loading it. It returns the model's name.
func (s *Server) Put(m Model) string {
	model := m.withDefaults()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.folder[model.Name] = model
	return model.Name
}

// Remove removes a model from the repository. A loaded model goes on serving.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.folder, name)
}

// Load loads a model and fails the test on an error.
func (s *Server) Load(name string) {
	s.tb.Helper()
	_, err := s.RepositoryModelLoad(context.Background(), &pb.RepositoryModelLoadRequest{ModelName: name})
	if err != nil {
		s.tb.Fatal(err)
	}
}

// Unload unloads a model.
func (s *Server) Unload(name string) {
	_, _ = s.RepositoryModelUnload(context.Background(), &pb.RepositoryModelUnloadRequest{ModelName: name})
}

// RepositoryIndex lists the repository. A model that was never loaded has neither version nor state. A model without a
// folder is not listed, even if it serves.
func (s *Server) RepositoryIndex(_ context.Context, _ *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &pb.RepositoryIndexResponse{}
	for _, name := range slices.Sorted(maps.Keys(s.folder)) {
		m := s.loaded[name]
		if m == nil {
			answer.Models = append(answer.Models, &pb.RepositoryIndexResponse_ModelIndex{Name: name})
			continue
		}
		for _, number := range slices.Sorted(maps.Keys(m.versions)) {
			v := m.versions[number]
			answer.Models = append(answer.Models, &pb.RepositoryIndexResponse_ModelIndex{
				Name: name, Version: number, State: v.state, Reason: v.reason,
			})
		}
	}
	return answer, nil
}

// RepositoryModelLoad loads the versions that the version policy selects and unloads the others. Other than in Triton,
// a load takes no time.
func (s *Server) RepositoryModelLoad(
	_ context.Context, r *pb.RepositoryModelLoadRequest,
) (*pb.RepositoryModelLoadResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, loaded, err := s.toLoad(r)
	if err != nil {
		return nil, err
	}
	for _, v := range loaded.versions {
		if v.state == ready {
			v.unload()
		}
	}
	for _, number := range m.servedVersions() {
		loaded.versions[number] = newVersion(m)
	}
	return &pb.RepositoryModelLoadResponse{}, nil
}

// toLoad returns the form of a model to load, and the loadedModel to load it into. It requires the lock.
func (s *Server) toLoad(r *pb.RepositoryModelLoadRequest) (*Model, *loadedModel, error) {
	m := s.folder[r.ModelName]
	var err error
	if m != nil {
		m, err = m.with(r.Parameters)
	}
	if errors.Is(err, errInvalidOverride) || m == nil {
		return nil, nil, status.Errorf(codes.Internal,
			"failed to load '%s', failed to poll from model repository", r.ModelName)
	}
	if err != nil {
		return nil, nil, err
	}
	loaded := s.loaded[r.ModelName]
	if loaded == nil {
		loaded = &loadedModel{versions: make(map[string]*version)}
		s.loaded[r.ModelName] = loaded
	}
	return m, loaded, nil
}

var errInvalidOverride = errors.New("the override cannot be parsed")

// with returns the model with the parameters of a load applied.
func (m *Model) with(parameters map[string]*pb.ModelRepositoryParameter) (*Model, error) {
	changed := *m
	for name, p := range parameters {
		if name != "config" {
			return nil, status.Errorf(codes.InvalidArgument, "unrecognized load parameter '%s'.", name)
		}
		config := &pb.ModelConfig{}
		if protojson.Unmarshal([]byte(p.GetStringParam()), config) != nil {
			return nil, errInvalidOverride
		}
		changed.Config = config
	}
	return changed.withDefaults(), nil
}

// RepositoryModelUnload unloads a model at once. It returns no error if the model is not loaded.
func (s *Server) RepositoryModelUnload(
	_ context.Context, r *pb.RepositoryModelUnloadRequest,
) (*pb.RepositoryModelUnloadResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if loaded := s.loaded[r.ModelName]; loaded != nil {
		for _, v := range loaded.versions {
			if v.state == ready {
				v.unload()
			}
		}
	}
	return &pb.RepositoryModelUnloadResponse{}, nil
}

func (v *version) unload() {
	v.state = unavailable
	v.reason = reasonUnloaded
}

// find returns the ready version with a number, or the newest ready one if number is "".
func (s *Server) find(name, number string) (*version, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	loaded := s.loaded[name]
	if loaded == nil { // never loaded, in the repository or not
		return nil, "", status.Errorf(codes.NotFound, "Request for unknown model: '%s' is not found", name)
	}
	numbers := []string{number}
	missing := fmt.Sprintf("Request for unknown model: '%s' version %s is not found", name, number)
	if number == "" {
		newestFirst := func(a, b string) int { return versionNumber(b) - versionNumber(a) }
		numbers = slices.SortedFunc(maps.Keys(loaded.versions), newestFirst)
		missing = fmt.Sprintf("Request for unknown model: '%s' has no available versions", name)
	}
	for _, n := range numbers {
		if v := loaded.versions[n]; v != nil && v.state == ready {
			return v, n, nil
		}
	}
	return nil, "", status.Error(codes.NotFound, missing)
}

// ModelConfig returns the configuration with its defaults.
func (s *Server) ModelConfig(_ context.Context, r *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	v, _, err := s.find(r.Name, r.Version)
	if err != nil {
		return nil, err
	}
	return &pb.ModelConfigResponse{Config: proto.Clone(v.model.Config).(*pb.ModelConfig)}, nil
}

// ModelMetadata returns the declared tensors, with a batch dimension if the model has one.
func (s *Server) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	v, _, err := s.find(r.Name, r.Version)
	if err != nil {
		return nil, err
	}
	config := triton.ConfigFrom(v.model.Config)
	return &pb.ModelMetadataResponse{
		Name:    r.Name,
		Inputs:  declarations(config.Inputs, config.MaxBatch),
		Outputs: declarations(config.Outputs, config.MaxBatch),
	}, nil
}

func declarations(tensors []triton.TensorInfo, maxBatch int) []*pb.ModelMetadataResponse_TensorMetadata {
	var out []*pb.ModelMetadataResponse_TensorMetadata
	for _, t := range tensors {
		shape := t.Shape
		if maxBatch > 0 {
			shape = append([]int64{-1}, shape...)
		}
		out = append(out, &pb.ModelMetadataResponse_TensorMetadata{
			Name:     t.Name,
			Datatype: string(t.Datatype),
			Shape:    shape,
		})
	}
	return out
}
