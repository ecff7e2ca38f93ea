package tritontest

import (
	"strings"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// refusals are what Triton says before a model sees the request.
func (x *trial) refusals(t *testing.T) {
	raw := func(name string, d triton.Datatype, shape []int64, n int) triton.Tensor {
		return triton.Raw(name, d, shape, make([]byte, n))
	}
	row := func(rows int64) triton.Tensor {
		return raw("MILLISECONDS", triton.INT32, []int64{rows, 1}, int(4*rows))
	}
	for _, c := range []struct {
		model   string
		inputs  []triton.Tensor
		outputs []string
		message string
	}{
		{"identity", []triton.Tensor{raw("FP32", triton.FP64, []int64{1}, 8)}, nil,
			"inference input 'FP32' data-type is 'FP64', but model 'conformance_identity' expects 'FP32'"},
		{"identity", []triton.Tensor{raw("FP32", triton.FP32, []int64{1, 1}, 4)}, nil,
			"unexpected shape for input 'FP32' for model 'conformance_identity'. Expected [-1], got [1,1]."},
		{"identity", []triton.Tensor{raw("X", triton.FP32, []int64{1}, 4)}, nil,
			"unexpected inference input 'X' for model 'conformance_identity'"},
		{"identity", []triton.Tensor{raw("FP32", triton.FP32, []int64{1}, 4), raw("FP32", triton.FP32, []int64{1}, 4)}, nil,
			"input 'FP32' already exists in request"},
		{"identity", nil, []string{"Y"}, "unexpected inference output 'Y' for model 'conformance_identity'"},
		{"slow", nil, nil, "expected 1 inputs but got 0 inputs for model 'conformance_slow'. Got input(s) [], " +
			"but missing required input(s) ['MILLISECONDS']. Please provide all required input(s)."},
		{"slow", []triton.Tensor{row(5)}, nil, "inference request batch-size must be <= 4 for 'conformance_slow'"},
	} {
		_, err := x.client.Infer(x.ctx(t), &triton.Request{Model: "conformance_" + c.model, Inputs: c.inputs, Outputs: c.outputs})
		refused(t, err, fault.Rejected, c.message)
	}
	_, err := x.client.Infer(x.ctx(t), &triton.Request{Model: "conformance_count", Inputs: []triton.Tensor{number("N", 1)}})
	refused(t, err, fault.Internal, "ModelInfer RPC doesn't support models with decoupled transaction policy")
}

// number is a one-element INT32 tensor.
func number(name string, value int32) triton.Tensor {
	return triton.New(name, []int64{1}, []int32{value})
}

// modelErrors are what a model says itself.
func (x *trial) modelErrors(t *testing.T) {
	for code, kind := range map[string]fault.Kind{
		"INVALID_ARG": fault.Rejected, "NOT_FOUND": fault.NotFound, "INTERNAL": fault.Internal, "UNKNOWN": fault.Internal,
		"UNSUPPORTED": fault.Internal, "ALREADY_EXISTS": fault.Internal,
	} {
		_, err := x.client.Infer(x.ctx(t), &triton.Request{Model: "conformance_fail",
			Inputs: []triton.Tensor{triton.Strings("CODE", []int64{1}, []string{code})}})
		refused(t, err, kind, "told to fail with "+code)
	}
	for _, code := range []string{"UNAVAILABLE", "CANCELLED"} {
		_, err := x.client.Infer(x.ctx(t), &triton.Request{Model: "conformance_fail",
			Inputs: []triton.Tensor{triton.Strings("CODE", []int64{1}, []string{code})}})
		refused(t, err, fault.Unavailable, "the inference server is not available")
	}
	_, err := x.client.Infer(x.ctx(t), &triton.Request{Model: "conformance_fail",
		Inputs: []triton.Tensor{triton.Strings("CODE", []int64{1}, []string{"RAISE"})}})
	if f := fault.As(err); f.Kind != fault.Internal || !strings.HasPrefix(f.Message,
		"Failed to process the request(s) for model 'conformance_fail_0_0', message: ValueError: the model broke") {
		t.Errorf("an exception: %v", err)
	}
	if len(x.client.Live()) == 0 {
		t.Error("a model's error took its server out of use")
	}
}
