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
	// maxProbeInput is the upper bound on an input of a probe, in bytes.
	maxProbeInput = 1 << 20
)

// probeRequest makes a model probe from a configuration: one row of ones and empty strings. More models accept ones
// than zeros as ids, masks, counts and temperatures. The shapes come from the first model_warmup without files, with
// zeros if it sets zero_data. If there is none, they come from the required inputs, with 1 for each variable dimension.
//
// It returns nil if the model cannot be probed: it has sequence batching or a response cache, or an input with an
// unknown datatype or above maxProbeInput.
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
		if len(input.raw) == 0 || elements < 0 || elements > maxProbeInput/len(input.raw) {
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
		m.Parameters = map[string]*pb.InferParameter{
			emptyFinal: {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}},
		}
	}
	return m
}

// probeInputs returns the inputs of a probe without a batch dimension, each with the data of one element.
func probeInputs(config *pb.ModelConfig) (inputs []Tensor) {
	for _, warmup := range config.GetModelWarmup() {
		for _, name := range slices.Sorted(maps.Keys(warmup.Inputs)) {
			input := warmup.Inputs[name]
			if input.GetInputDataFile() != "" {
				inputs = nil
				break
			}
			t := Tensor{Name: name, Datatype: datatypeFrom(input.DataType), Shape: slices.Clone(input.Dims)}
			t.raw = rawOne(t.Datatype)
			if input.GetZeroData() {
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
		t := Tensor{Name: input.Name, Datatype: datatypeFrom(input.DataType), Shape: slices.Clone(input.Dims)}
		t.raw = rawOne(t.Datatype)
		for i, dim := range t.Shape {
			if dim < 0 {
				t.Shape[i] = 1
			}
		}
		inputs = append(inputs, t)
	}
	return inputs
}

// rawOne returns the number 1 in wire form, an empty string for BYTES, or nothing for an unknown datatype.
func rawOne(d Datatype) []byte {
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
		return encodeStrings([]string{""})
	}
	raw := make([]byte, max(0, d.Size()))
	if len(raw) > 0 {
		raw[0] = 1
	}
	return raw
}
