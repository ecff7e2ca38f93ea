package triton

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/prototext"

	pb "retort/orchestrator/triton/inferencepb"
)

// ModelConfig is a model's configuration as Triton runs it: config.pbtxt with Triton's own defaults filled in.
type ModelConfig struct {
	Name, Platform, Backend string
	// MaxBatch is the most rows in one request; 0 means that the model's tensors have no batch dimension.
	MaxBatch        int
	Inputs, Outputs []TensorInfo
	// Parameters are the strings an operator wrote for the gateway or for the backend. Their meaning belongs to whoever
	// reads them.
	Parameters map[string]string
	// Decoupled models answer any number of times, and only to Stream.
	Decoupled bool
	// Batching is nil when Triton does not join requests of different callers.
	Batching  *Batching
	Instances []Instances
	// Steps are the models of an ensemble, in the order written.
	Steps []Step
	// Cached is set when Triton answers repeated requests from its cache.
	Cached bool
}

// Batching is how Triton joins requests.
type Batching struct {
	PreferredSizes []int
	MaxQueueDelay  time.Duration
	// MaxQueued is the most requests that wait; 0 means any number.
	MaxQueued int
}

// Instances is a group of copies of a model.
type Instances struct {
	// Kind is "AUTO", "GPU", "CPU" or "MODEL".
	Kind string
	// Count is per GPU of GPUs for kind GPU, else in all.
	Count int
	GPUs  []int
}

// Step is one model of an ensemble, with the tensors of the ensemble by the names of the model's own.
type Step struct {
	Model           string
	Version         int64
	Inputs, Outputs map[string]string
}

// Concurrency returns how many requests the model executes at a time on one replica, at least 1.
func (c *ModelConfig) Concurrency() int {
	n := 0
	for _, group := range c.Instances {
		n += group.Count * max(1, len(group.GPUs))
	}
	return max(1, n)
}

// Input returns the declaration of an input.
func (c *ModelConfig) Input(name string) (TensorInfo, bool) { return find(c.Inputs, name) }

// Output returns the declaration of an output.
func (c *ModelConfig) Output(name string) (TensorInfo, bool) { return find(c.Outputs, name) }

func find(tensors []TensorInfo, name string) (TensorInfo, bool) {
	for _, t := range tensors {
		if t.Name == name {
			return t, true
		}
	}
	return TensorInfo{}, false
}

// ModelConfig returns the configuration of a version, or of the one the policy picks.
func (c *Client) ModelConfig(ctx context.Context, name, version string) (config *ModelConfig, err error) {
	err = c.ask(ctx, question{name: "model_config", model: name, steady: true}, func(ctx context.Context, r *Replica) error {
		answer, err := r.service.ModelConfig(ctx, &pb.ModelConfigRequest{Name: name, Version: version})
		config = ConfigFrom(answer.GetConfig())
		return err
	})
	if err != nil {
		return nil, err
	}
	return config, nil
}

// ParseConfig reads the text of a config.pbtxt. What Triton fills in is not there.
func ParseConfig(text []byte) (*ModelConfig, error) {
	config := &pb.ModelConfig{}
	if err := prototext.Unmarshal(text, config); err != nil {
		return nil, err
	}
	return ConfigFrom(config), nil
}

// ConfigFrom reads the wire form, which is also the text form of config.pbtxt.
func ConfigFrom(m *pb.ModelConfig) *ModelConfig {
	c := &ModelConfig{
		Name: m.GetName(), Platform: m.GetPlatform(), Backend: m.GetBackend(), MaxBatch: int(m.GetMaxBatchSize()),
		Parameters: make(map[string]string, len(m.GetParameters())),
		Decoupled:  m.GetModelTransactionPolicy().GetDecoupled(),
		Batching:   batchingFrom(m.GetDynamicBatching()),
		Cached:     m.GetResponseCache().GetEnable(),
	}
	for _, t := range m.GetInput() {
		c.Inputs = append(c.Inputs, TensorInfo{
			Name: t.Name, Datatype: declared(t.DataType), Shape: t.Dims, Optional: t.Optional, Ragged: t.AllowRaggedBatch,
		})
	}
	for _, t := range m.GetOutput() {
		c.Outputs = append(c.Outputs, TensorInfo{Name: t.Name, Datatype: declared(t.DataType), Shape: t.Dims})
	}
	for name, p := range m.GetParameters() {
		c.Parameters[name] = p.GetStringValue()
	}
	for _, g := range m.GetInstanceGroup() {
		c.Instances = append(c.Instances, Instances{
			Kind: strings.TrimPrefix(g.Kind.String(), "KIND_"), Count: int(g.Count), GPUs: ints(g.Gpus),
		})
	}
	for _, s := range m.GetEnsembleScheduling().GetStep() {
		c.Steps = append(c.Steps, Step{Model: s.ModelName, Version: s.ModelVersion, Inputs: s.InputMap, Outputs: s.OutputMap})
	}
	return c
}

func batchingFrom(m *pb.ModelDynamicBatching) *Batching {
	if m == nil {
		return nil
	}
	return &Batching{
		PreferredSizes: ints(m.PreferredBatchSize),
		MaxQueueDelay:  time.Duration(m.MaxQueueDelayMicroseconds) * time.Microsecond,
		MaxQueued:      int(m.GetDefaultQueuePolicy().GetMaxQueueSize()),
	}
}

// declared turns TYPE_FP32 into FP32 and TYPE_STRING into BYTES.
func declared(d pb.DataType) Datatype {
	if d == pb.DataType_TYPE_STRING {
		return BYTES
	}
	return Datatype(strings.TrimPrefix(d.String(), "TYPE_"))
}

func ints(values []int32) []int {
	var out []int
	for _, v := range values {
		out = append(out, int(v))
	}
	return out
}
