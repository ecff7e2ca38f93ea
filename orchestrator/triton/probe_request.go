package triton

import (
	"maps"
	"slices"

	pb "retort/orchestrator/triton/inferencepb"
)

const (
	// probeID names probes in Triton's log.
	probeID = "probe"
	// maxProbe is the largest input of a probe in bytes.
	maxProbe = 1 << 20
	// emptyText is the size of a text without bytes: that of its length.
	emptyText = 4
)

// probeRequest makes a request of a model's configuration that any client might send: one row of zeros, or of empty
// texts, in the shapes of the model's first model_warmup without files, else of its inputs that are not optional, with 1
// for each dimension that varies. It returns nil for a model that no single such request tells anything of: one of
// sequences, one whose answers come from a cache, and one whose inputs are too large.
func probeRequest(config *pb.ModelConfig) *pb.ModelInferRequest {
	if config.GetSequenceBatching() != nil || config.GetResponseCache().GetEnable() {
		return nil
	}
	r := &Request{Model: config.GetName(), ID: probeID}
	for _, input := range probeInputs(config) {
		if config.GetMaxBatchSize() > 0 {
			input.Shape = append([]int64{1}, input.Shape...)
		}
		size := input.Datatype.Size()
		if input.Datatype == BYTES {
			size = emptyText
		}
		elements := input.Elements()
		if size < 0 || elements < 0 || elements > maxProbe/size {
			return nil
		}
		input.raw = make([]byte, elements*size)
		r.Inputs = append(r.Inputs, input)
	}
	m, err := r.Message()
	if err != nil {
		return nil
	}
	if config.GetModelTransactionPolicy().GetDecoupled() {
		m.Parameters = map[string]*pb.InferParameter{emptyFinal: {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}}}
	}
	return m
}

// probeInputs are the inputs of a probe, without a batch dimension and elements.
func probeInputs(config *pb.ModelConfig) (inputs []Tensor) {
	for _, warmup := range config.GetModelWarmup() {
		for _, name := range slices.Sorted(maps.Keys(warmup.Inputs)) {
			input := warmup.Inputs[name]
			if input.GetInputDataFile() != "" {
				inputs = nil
				break
			}
			inputs = append(inputs, Tensor{Name: name, Datatype: declared(input.DataType), Shape: slices.Clone(input.Dims)})
		}
		if len(inputs) > 0 {
			return inputs
		}
	}
	for _, input := range config.GetInput() {
		if input.Optional {
			continue
		}
		shape := slices.Clone(input.Dims)
		for i, dim := range shape {
			if dim < 0 {
				shape[i] = 1
			}
		}
		inputs = append(inputs, Tensor{Name: input.Name, Datatype: declared(input.DataType), Shape: shape})
	}
	return inputs
}
