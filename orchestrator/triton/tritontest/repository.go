package tritontest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
)

// serving is what the server knows of a model it was asked to load.
type serving struct {
	// model is the form that serves; nil until the first load has succeeded.
	model    *Model
	versions map[string]*version
}

type version struct {
	state  string
	reason string
	// model is the form this version was loaded in.
	model *Model
	// permits has a place for each instance of the model.
	permits chan struct{}
	waiting atomic.Int64
}

func newVersion(m *Model) *version {
	return &version{state: ready, model: m, permits: make(chan struct{}, triton.ConfigFrom(m.Config).Concurrency())}
}

// The states of a version in the repository index.
const (
	ready       = "READY"
	loading     = "LOADING"
	unloading   = "UNLOADING"
	unavailable = "UNAVAILABLE"
)

// unloaded is the reason that Triton gives for a version it unloaded.
const unloaded = "unloaded"

// Put adds a model to the repository or replaces it there, as copying files does: nothing is loaded by it. It returns
// the model's name.
func (s *Server) Put(m Model) string {
	p := m.prepared()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.folder[p.Name] = p
	return p.Name
}

// Remove takes a model out of the repository, as deleting its folder does. It goes on serving when it is loaded.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.folder, name)
}

// Load loads a model and fails the test when that does not work.
func (s *Server) Load(name string) {
	s.tb.Helper()
	if _, err := s.RepositoryModelLoad(context.Background(), &pb.RepositoryModelLoadRequest{ModelName: name}); err != nil {
		s.tb.Fatal(err)
	}
}

// Unload unloads a model.
func (s *Server) Unload(name string) {
	_, _ = s.RepositoryModelUnload(context.Background(), &pb.RepositoryModelUnloadRequest{ModelName: name})
}

// RepositoryIndex lists what is in the repository; a model that was never loaded has neither version nor state, and one
// whose folder is gone is not listed even while it serves.
func (s *Server) RepositoryIndex(_ context.Context, r *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &pb.RepositoryIndexResponse{}
	for _, name := range slices.Sorted(maps.Keys(s.folder)) {
		m := s.loaded[name]
		if m == nil {
			if !r.Ready {
				answer.Models = append(answer.Models, &pb.RepositoryIndexResponse_ModelIndex{Name: name})
			}
			continue
		}
		for _, number := range slices.Sorted(maps.Keys(m.versions)) {
			v := m.versions[number]
			if !r.Ready || v.state == ready {
				answer.Models = append(answer.Models, &pb.RepositoryIndexResponse_ModelIndex{
					Name: name, Version: number, State: v.state, Reason: v.reason})
			}
		}
	}
	return answer, nil
}

// RepositoryModelLoad loads the versions that the policy picks. The old form serves until all of the new one is there;
// then its other versions go.
func (s *Server) RepositoryModelLoad(ctx context.Context, r *pb.RepositoryModelLoadRequest) (*pb.RepositoryModelLoadResponse, error) {
	m, known, err := s.toLoad(r)
	if err != nil {
		return nil, err
	}
	chosen := m.chosen()
	s.mu.Lock()
	for _, number := range chosen {
		if v := known.versions[number]; v == nil || v.state != ready {
			known.versions[number] = &version{state: loading, model: m}
		}
	}
	s.mu.Unlock()
	time.Sleep(m.LoadTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.LoadError != "" {
		return nil, known.failed(m, chosen)
	}
	for number, v := range known.versions {
		if !slices.Contains(chosen, number) && v.state == ready {
			v.state, v.reason = unavailable, unloaded
		}
	}
	for _, number := range chosen {
		known.versions[number] = newVersion(m)
	}
	known.model = m
	return &pb.RepositoryModelLoadResponse{}, nil
}

// failed marks what could not be loaded and says so as Triton does. Versions that were ready before still are.
func (known *serving) failed(m *Model, chosen []string) error {
	var b strings.Builder
	for _, number := range chosen {
		if v := known.versions[number]; v.state == loading {
			v.state = unavailable
			v.reason = "Internal: " + m.LoadError
			fmt.Fprintf(&b, "version %s is at UNAVAILABLE state: %s;\n", number, v.reason)
		}
	}
	return status.Errorf(codes.InvalidArgument, "load failed for model '%s': %s", m.Name, b.String())
}

// toLoad returns the model as it is to be loaded.
func (s *Server) toLoad(r *pb.RepositoryModelLoadRequest) (*Model, *serving, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.folder[r.ModelName]
	err := error(nil)
	if m != nil {
		m, err = m.with(r.Parameters)
	}
	if errors.Is(err, errUnpolled) || m == nil {
		return nil, nil, status.Errorf(codes.Internal, "failed to load '%s', failed to poll from model repository", r.ModelName)
	}
	if err != nil {
		return nil, nil, err
	}
	known := s.loaded[r.ModelName]
	if known == nil {
		known = &serving{versions: make(map[string]*version)}
		s.loaded[r.ModelName] = known
	}
	return m, known, nil
}

var errUnpolled = errors.New("the override cannot be read")

// with returns the model with a load's parameters applied.
func (m *Model) with(parameters map[string]*pb.ModelRepositoryParameter) (*Model, error) {
	changed := *m
	for name, p := range parameters {
		if name != "config" {
			return nil, status.Errorf(codes.InvalidArgument, "unrecognized load parameter '%s'.", name)
		}
		config := &pb.ModelConfig{}
		if protojson.Unmarshal([]byte(p.GetStringParam()), config) != nil {
			return nil, errUnpolled
		}
		changed.Config = config
	}
	return changed.prepared(), nil
}

// RepositoryModelUnload unloads at once; what is not loaded is no error.
func (s *Server) RepositoryModelUnload(_ context.Context, r *pb.RepositoryModelUnloadRequest) (*pb.RepositoryModelUnloadResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.loaded[r.ModelName]; known != nil {
		known.model = nil
		for _, v := range known.versions {
			if v.state == ready {
				v.state, v.reason = unavailable, unloaded
			}
		}
	}
	return &pb.RepositoryModelUnloadResponse{}, nil
}

// find returns the version that a request means.
func (s *Server) find(name, number string) (*version, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.loaded[name]
	if known == nil { // never asked to load it, be it in the repository or not
		return nil, "", status.Errorf(codes.NotFound, "Request for unknown model: '%s' is not found", name)
	}
	numbers := []string{number}
	missing := fmt.Sprintf("Request for unknown model: '%s' version %s is not found", name, number)
	if number == "" {
		numbers = slices.SortedFunc(maps.Keys(known.versions), func(a, b string) int { return parsed(b) - parsed(a) })
		missing = fmt.Sprintf("Request for unknown model: '%s' has no available versions", name)
	}
	for _, n := range numbers {
		if v := known.versions[n]; v != nil && v.state == ready {
			return v, n, nil
		}
	}
	return nil, "", status.Error(codes.NotFound, missing)
}

// ModelConfig answers the configuration in its filled-in form.
func (s *Server) ModelConfig(_ context.Context, r *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	v, _, err := s.find(r.Name, r.Version)
	if err != nil {
		return nil, err
	}
	return &pb.ModelConfigResponse{Config: proto.Clone(v.model.Config).(*pb.ModelConfig)}, nil
}

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
		if s.loaded[r.Name].versions[number].state == ready {
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
