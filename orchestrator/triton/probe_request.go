package triton

import (
	"bytes"
	"maps"
	"slices"

	pb "retort/orchestrator/triton/inferencepb"
)

const (
	// probeID names probes in Triton's log.
	probeID = "probe"
	// maxProbe is the largest input of a probe in bytes.
	maxProbe = 1 << 20
)

// probeRequest makes a request from a model's configuration: one row of ones and empty strings, which more models accept as
// ids, masks, counts and temperatures than accept zeros. The shapes are those of the first model_warmup without files
// (with zeros where it says zero_data), else those of the required inputs, with 1 for each variable dimension. It returns
// nil for a model that cannot be probed in this way: one that keeps sequences, answers from a cache, or has an input of an
// unknown datatype or above maxProbe.
func probeRequest(config *pb.ModelConfig) *pb.ModelInferRequest {
	if config.GetSequenceBatching() != nil || config.GetResponseCache().GetEnable() {
		return nil
	}
	r := &Request{Model: config.GetName(), ID: probeID}
	for _, input := range probeInputs(config) {
		if config.GetMaxBatchSize() > 0 {
			input.Shape = append([]int64{1}, input.Shape...)
		}
		elements := input.Elements()
		if len(input.raw) == 0 || elements < 0 || elements > maxProbe/len(input.raw) {
			return nil
		}
		input.raw = bytes.Repeat(input.raw, elements)
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

// probeInputs are the inputs of a probe without a batch dimension, each with the data of a single element.
func probeInputs(config *pb.ModelConfig) (inputs []Tensor) {
	for _, warmup := range config.GetModelWarmup() {
		for _, name := range slices.Sorted(maps.Keys(warmup.Inputs)) {
			input := warmup.Inputs[name]
			if input.GetInputDataFile() != "" {
				inputs = nil
				break
			}
			t := Tensor{Name: name, Datatype: declared(input.DataType), Shape: slices.Clone(input.Dims)}
			if t.raw = one(t.Datatype); input.GetZeroData() {
				clear(t.raw)
			}
			inputs = append(inputs, t)
		}
		if len(inputs) > 0 {
			return inputs
		}
	}
	for _, input := range config.GetInput() {
		if input.Optional {
			continue
		}
		t := Tensor{Name: input.Name, Datatype: declared(input.DataType), Shape: slices.Clone(input.Dims)}
		t.raw = one(t.Datatype)
		for i, dim := range t.Shape {
			if dim < 0 {
				t.Shape[i] = 1
			}
		}
		inputs = append(inputs, t)
	}
	return inputs
}

// one is the number 1 in wire form, or an empty string, which is its length alone; empty for an unknown datatype.
func one(d Datatype) []byte {
	switch d {
	case FP16:
		return []byte{0, 0x3c}
	case BF16:
		return []byte{0x80, 0x3f}
	case FP32:
		return encode([]float32{1})
	case FP64:
		return encode([]float64{1})
	case BYTES:
		return joined([]string{""})
	}
	raw := make([]byte, max(0, d.Size()))
	if len(raw) > 0 {
		raw[0] = 1
	}
	return raw
}
