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
	// Name is the name of the folder. Default: the name in Config.
	Name string
	// Config is the content of config.pbtxt: see the functions Config and ConfigFile.
	Config *pb.ModelConfig
	// Versions are the numbered folders. Default: "1".
	Versions []string
	// Infer answers a request that fits Config, one request at a time per instance. A decoupled model has Stream
	// instead.
	Infer func(context.Context, *triton.Request) (*triton.Response, error)
	// Stream answers a request of a decoupled model. ctx ends when the caller leaves. The server sends the empty final
	// response.
	Stream func(ctx context.Context, r *triton.Request, send func(*triton.Response) error) error
	// LoadTime is how long a load takes.
	LoadTime time.Duration
	// LoadError is why loads fail, or "" if they succeed.
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

// ConfigFile reads a config.pbtxt.
func ConfigFile(tb testing.TB, path string) *pb.ModelConfig {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return Config(tb, string(text))
}

// EchoConfig is the config.pbtxt of Echo.
const EchoConfig = `
name: "echo" backend: "onnxruntime" max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
instance_group [ { count: 4 } ]
parameters { key: "retort_api" value { string_value: "embedding" } }`

// Echo returns a model named "echo" whose output is its input.
func Echo(tb testing.TB) Model { return Model{Config: Config(tb, EchoConfig), Infer: identity} }

// After returns a copy of model that answers a number of calls and returns the error of then for all later calls.
func After(calls int64, model Model, then func(context.Context) error) Model {
	var count atomic.Int64
	infer := model.Infer
	model.Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		if count.Add(1) > calls {
			return nil, then(ctx)
		}
		return infer(ctx, r)
	}
	return model
}

// withDefaults returns a copy with the defaults that Triton adds.
func (m Model) withDefaults() *Model {
	config := &pb.ModelConfig{}
	if m.Config != nil {
		config = proto.Clone(m.Config).(*pb.ModelConfig)
	}
	m.Name = cmp.Or(m.Name, config.Name)
	config.Name = m.Name
	m.Config = config
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
	slices.SortFunc(m.Versions, func(a, b string) int { return versionNumber(a) - versionNumber(b) })
	return &m
}

// servedVersions returns the versions that the version policy selects, oldest first.
func (m *Model) servedVersions() []string {
	policy := m.Config.VersionPolicy
	switch {
	case policy.GetAll() != nil:
		return m.Versions
	case policy.GetSpecific() != nil:
		return slices.DeleteFunc(slices.Clone(m.Versions), func(v string) bool {
			return !slices.Contains(policy.GetSpecific().Versions, int64(versionNumber(v)))
		})
	}
	return m.Versions[max(0, len(m.Versions)-int(policy.GetLatest().NumVersions)):]
}

// versionNumber returns the number of a version's folder.
func versionNumber(version string) int {
	n, _ := strconv.Atoi(version)
	return n
}
