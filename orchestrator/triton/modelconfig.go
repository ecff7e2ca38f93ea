package triton

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	pb "retort/orchestrator/triton/inferencepb"
)

// TensorInfo is the declaration of a tensor. A dimension of -1 has any size. In a Model, a shape includes the batch
// dimension, -1, if the model has one. In a ModelConfig it does not.
type TensorInfo struct {
	Name     string
	Datatype Datatype
	Shape    []int64
	// Optional inputs may be left out of a request. It is set only in a ModelConfig.
	Optional bool
}

// ModelConfig is a model's configuration as Triton runs it: config.pbtxt with Triton's defaults.
type ModelConfig struct {
	Name, Platform, Backend string
	// MaxBatch is the upper bound on the rows of a request, or 0 if the model's tensors have no batch dimension.
	MaxBatch        int
	Inputs, Outputs []TensorInfo
	// Parameters are settings for the gateway and for the backend.
	Parameters map[string]string
	Decoupled  bool
	// OnGPU says that the configuration demands a GPU (KIND_GPU).
	OnGPU bool
	// MaxQueueDelay is how long Triton delays a request to batch others with it, or nil without dynamic batching.
	MaxQueueDelay *time.Duration

	instances int
	wire      string // the whole configuration, serialised
}

// Concurrency returns how many requests the model executes in parallel on one replica, at least 1.
func (c *ModelConfig) Concurrency() int { return max(1, c.instances) }

// Equal reports whether two configurations are the same, including fields that this program does not know.
func (c *ModelConfig) Equal(o *ModelConfig) bool { return c.wire == o.wire }

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

// ModelConfig returns the configuration of the version that serves requests without a version.
func (c *Client) ModelConfig(ctx context.Context, model string) (config *ModelConfig, err error) {
	spec := callSpec{name: "model_config", model: model, sticky: true}
	err = c.call(ctx, spec, func(ctx context.Context, r *Replica) error {
		answer, err := r.service.ModelConfig(ctx, &pb.ModelConfigRequest{Name: model})
		config = ConfigFrom(answer.GetConfig())
		return err
	})
	if err != nil {
		return nil, err
	}
	return config, nil
}

// ModelTensors returns the tensors of the version that serves requests without a version, with the shapes of the wire.
func (c *Client) ModelTensors(ctx context.Context, model string) (inputs, outputs []TensorInfo, err error) {
	spec := callSpec{name: "model_metadata", model: model, sticky: true}
	err = c.call(ctx, spec, func(ctx context.Context, r *Replica) error {
		m, err := r.service.ModelMetadata(ctx, &pb.ModelMetadataRequest{Name: model})
		inputs = tensorInfos(m.GetInputs())
		outputs = tensorInfos(m.GetOutputs())
		return err
	})
	return inputs, outputs, err
}

func tensorInfos(tensors []*pb.ModelMetadataResponse_TensorMetadata) []TensorInfo {
	var infos []TensorInfo
	for _, t := range tensors {
		infos = append(infos, TensorInfo{Name: t.Name, Datatype: Datatype(t.Datatype), Shape: t.Shape})
	}
	return infos
}

// ParseConfig parses the text of a config.pbtxt. It does not add Triton's defaults.
func ParseConfig(text []byte) (*ModelConfig, error) {
	config := &pb.ModelConfig{}
	if err := prototext.Unmarshal(text, config); err != nil {
		return nil, err
	}
	return ConfigFrom(config), nil
}

// ConfigFrom converts a configuration from its wire form.
func ConfigFrom(m *pb.ModelConfig) *ModelConfig {
	c := &ModelConfig{
		Name:       m.GetName(),
		Platform:   m.GetPlatform(),
		Backend:    m.GetBackend(),
		MaxBatch:   int(m.GetMaxBatchSize()),
		Parameters: make(map[string]string, len(m.GetParameters())),
		Decoupled:  m.GetModelTransactionPolicy().GetDecoupled(),
	}
	for _, t := range m.GetInput() {
		c.Inputs = append(c.Inputs, TensorInfo{
			Name: t.Name, Datatype: datatypeFrom(t.DataType), Shape: t.Dims, Optional: t.Optional,
		})
	}
	for _, t := range m.GetOutput() {
		c.Outputs = append(c.Outputs, TensorInfo{Name: t.Name, Datatype: datatypeFrom(t.DataType), Shape: t.Dims})
	}
	for name, p := range m.GetParameters() {
		c.Parameters[name] = p.GetStringValue()
	}
	if batching := m.GetDynamicBatching(); batching != nil {
		delay := time.Duration(batching.MaxQueueDelayMicroseconds) * time.Microsecond
		c.MaxQueueDelay = &delay
	}
	for _, group := range m.GetInstanceGroup() {
		c.instances += int(group.Count) * max(1, len(group.Gpus)) // Count is per GPU.
		c.OnGPU = c.OnGPU || group.Kind == pb.ModelInstanceGroup_KIND_GPU
	}
	wire, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	c.wire = string(wire)
	return c
}

// datatypeFrom returns FP32 for TYPE_FP32, BYTES for TYPE_STRING and so on.
func datatypeFrom(d pb.DataType) Datatype {
	if d == pb.DataType_TYPE_STRING {
		return BYTES
	}
	return Datatype(strings.TrimPrefix(d.String(), "TYPE_"))
}
