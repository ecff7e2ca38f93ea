package tritontest

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

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
	if len(config.InstanceGroup) == 0 {
		config.InstanceGroup = []*pb.ModelInstanceGroup{{Kind: pb.ModelInstanceGroup_KIND_CPU}}
	}
	for _, group := range config.InstanceGroup {
		group.Count = max(1, group.Count)
	}
	if len(m.Versions) == 0 {
		m.Versions = []string{"1"}
	}
	m.Versions = slices.Clone(m.Versions)
	slices.SortFunc(m.Versions, func(a, b string) int { return versionNumber(a) - versionNumber(b) })
	return &m
}

// servedVersions returns the versions that the version policy selects: all, oldest first, or by default the newest.
func (m *Model) servedVersions() []string {
	if m.Config.GetVersionPolicy().GetAll() != nil {
		return m.Versions
	}
	return m.Versions[len(m.Versions)-1:]
}

// versionNumber returns the number of a version's folder.
func versionNumber(version string) int {
	n, _ := strconv.Atoi(version)
	return n
}
