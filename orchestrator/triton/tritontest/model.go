package tritontest

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
)

// Model is an entry of the server's repository.
type Model struct {
	// Name is the folder's name; the one in Config is used when it is empty.
	Name string
	// Config is what config.pbtxt says: see Config and ConfigFile.
	Config *pb.ModelConfig
	// Versions are the numbered folders; none means just "1".
	Versions []string
	// Infer answers a request whose inputs fit Config. It is called for one request at a time per instance, unless
	// Config says decoupled.
	Infer func(context.Context, *triton.Request) (*triton.Response, error)
	// Stream answers a request of a decoupled model. ctx ends when the caller leaves. The empty final response is sent
	// for it.
	Stream func(ctx context.Context, r *triton.Request, send func(*triton.Response) error) error
	// LoadTime is how long loading a version takes, LoadError why it fails.
	LoadTime  time.Duration
	LoadError string
}

// Config parses the text of a config.pbtxt.
func Config(tb testing.TB, text string) *pb.ModelConfig {
	tb.Helper()
	config := &pb.ModelConfig{}
	if err := prototext.Unmarshal([]byte(text), config); err != nil {
		tb.Fatal(err)
	}
	return config
}

// ConfigFile reads a config.pbtxt, such as one of the real model repository.
func ConfigFile(tb testing.TB, path string) *pb.ModelConfig {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return Config(tb, string(text))
}

// EchoConfig is the configuration of the model of Echo.
const EchoConfig = `
name: "echo" backend: "onnxruntime" max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
instance_group [ { count: 4 } ]
parameters { key: "retort_api" value { string_value: "embedding" } }`

// Echo returns a model named "echo" whose output is its input.
func Echo(tb testing.TB) Model { return Model{Config: Config(tb, EchoConfig), Infer: identity} }

// After returns a model that answers some calls and runs another function for the calls after those.
func After(calls int64, model Model, then func(context.Context) error) Model {
	var begun atomic.Int64
	infer := model.Infer
	model.Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		if begun.Add(1) > calls {
			return nil, then(ctx)
		}
		return infer(ctx, r)
	}
	return model
}

// prepared returns a copy with what Triton fills in.
func (m Model) prepared() *Model {
	config := &pb.ModelConfig{}
	if m.Config != nil {
		config = proto.Clone(m.Config).(*pb.ModelConfig)
	}
	m.Name = cmp.Or(m.Name, config.Name)
	m.Config, config.Name = config, m.Name
	if config.VersionPolicy == nil {
		config.VersionPolicy = &pb.ModelVersionPolicy{PolicyChoice: &pb.ModelVersionPolicy_Latest_{
			Latest: &pb.ModelVersionPolicy_Latest{NumVersions: 1}}}
	}
	if len(config.InstanceGroup) == 0 {
		config.InstanceGroup = []*pb.ModelInstanceGroup{{Kind: pb.ModelInstanceGroup_KIND_CPU}}
	}
	for i, group := range config.InstanceGroup {
		group.Name = cmp.Or(group.Name, m.Name+"_"+strconv.Itoa(i))
		group.Count = max(1, group.Count)
	}
	if len(m.Versions) == 0 {
		m.Versions = []string{"1"}
	}
	m.Versions = slices.Clone(m.Versions)
	slices.SortFunc(m.Versions, func(a, b string) int { return parsed(a) - parsed(b) })
	return &m
}

// chosen returns the versions that the policy picks, oldest first.
func (m *Model) chosen() []string {
	policy := m.Config.VersionPolicy
	switch {
	case policy.GetAll() != nil:
		return m.Versions
	case policy.GetSpecific() != nil:
		return slices.DeleteFunc(slices.Clone(m.Versions), func(v string) bool {
			return !slices.Contains(policy.GetSpecific().Versions, int64(parsed(v)))
		})
	}
	return m.Versions[max(0, len(m.Versions)-int(policy.GetLatest().NumVersions)):]
}

// parsed returns the number that a version's folder is named by.
func parsed(version string) int {
	n, _ := strconv.Atoi(version)
	return n
}
