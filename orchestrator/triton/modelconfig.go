package triton

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	pb "retort/orchestrator/triton/inferencepb"
)

// TensorInfo is a tensor as a model declares it. A dimension of -1 has any size. A Model's shapes are those of the wire
// and start with a batch dimension of -1 if the model has one; a ModelConfig's shapes leave the batch dimension out.
type TensorInfo struct {
	Name     string
	Datatype Datatype
	Shape    []int64
	// Optional is known only from a ModelConfig: requests may leave the input out.
	Optional bool
}

// ModelConfig is a model's configuration as Triton runs it: config.pbtxt with Triton's own defaults filled in.
type ModelConfig struct {
	Name, Platform, Backend string
	// MaxBatch is the largest number of rows in a request, or 0 if the model's tensors have no batch dimension.
	MaxBatch        int
	Inputs, Outputs []TensorInfo
	// Parameters are the strings that an operator wrote for the gateway or for the backend.
	Parameters map[string]string
	// Decoupled models send any number of responses to a request, and only to Stream.
	Decoupled bool
	// MaxQueueDelay is how long Triton holds a request back to join others to it, or nil if it does not join requests.
	MaxQueueDelay *time.Duration

	instances int
	wire      string // the whole configuration
}

// Concurrency returns how many requests the model executes in parallel on one replica, at least 1.
func (c *ModelConfig) Concurrency() int { return max(1, c.instances) }

// Equal reports whether two configurations agree in everything that Triton says, known to this program or not.
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
	q := question{name: "model_config", model: model, steady: true}
	err = c.ask(ctx, q, func(ctx context.Context, r *Replica) error {
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
	q := question{name: "model_metadata", model: model, steady: true}
	err = c.ask(ctx, q, func(ctx context.Context, r *Replica) error {
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

// ParseConfig reads the text of a config.pbtxt, without the defaults that Triton fills in.
func ParseConfig(text []byte) (*ModelConfig, error) {
	config := &pb.ModelConfig{}
	if err := prototext.Unmarshal(text, config); err != nil {
		return nil, err
	}
	return ConfigFrom(config), nil
}

// ConfigFrom reads a configuration in wire form.
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
			Name: t.Name, Datatype: declared(t.DataType), Shape: t.Dims, Optional: t.Optional,
		})
	}
	for _, t := range m.GetOutput() {
		c.Outputs = append(c.Outputs, TensorInfo{Name: t.Name, Datatype: declared(t.DataType), Shape: t.Dims})
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
	}
	wire, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	c.wire = string(wire)
	return c
}

// declared turns TYPE_FP32 into FP32 and TYPE_STRING into BYTES.
func declared(d pb.DataType) Datatype {
	if d == pb.DataType_TYPE_STRING {
		return BYTES
	}
	return Datatype(strings.TrimPrefix(d.String(), "TYPE_"))
}
