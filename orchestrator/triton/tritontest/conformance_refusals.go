package tritontest

import (
	"strings"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// refusals tests errors of Triton for requests that it does not pass to a model.
func (x *suite) refusals(t *testing.T) {
	raw := func(name string, d triton.Datatype, shape []int64, n int) triton.Tensor {
		return triton.Raw(name, d, shape, make([]byte, n))
	}
	row := func(rows int64) triton.Tensor {
		return raw("MILLISECONDS", triton.INT32, []int64{rows, 1}, int(4*rows))
	}
	one := raw("FP32", triton.FP32, []int64{1}, 4)
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
		{"identity", []triton.Tensor{one, one}, nil, "input 'FP32' already exists in request"},
		{"identity", nil, []string{"Y"}, "unexpected inference output 'Y' for model 'conformance_identity'"},
		{"slow", nil, nil, "expected 1 inputs but got 0 inputs for model 'conformance_slow'. Got input(s) [], " +
			"but missing required input(s) ['MILLISECONDS']. Please provide all required input(s)."},
		{"slow", []triton.Tensor{row(5)}, nil, "inference request batch-size must be <= 4 for 'conformance_slow'"},
	} {
		r := request("conformance_"+c.model, c.inputs...)
		r.Outputs = c.outputs
		_, err := x.client.Infer(x.ctx(t), r)
		wantFault(t, err, fault.Rejected, c.message)
	}
	_, err := x.client.Infer(x.ctx(t), request("conformance_count", number("N", 1)))
	wantFault(t, err, fault.Internal, "ModelInfer RPC doesn't support models with decoupled transaction policy")
}

// number returns a one-element INT32 tensor.
func number(name string, value int32) triton.Tensor {
	return triton.New(name, []int64{1}, []int32{value})
}

// modelErrors tests errors of a model.
func (x *suite) modelErrors(t *testing.T) {
	fail := func(code string) error {
		_, err := x.client.Infer(x.ctx(t),
			request("conformance_fail", triton.Strings("CODE", []int64{1}, []string{code})))
		return err
	}
	for code, kind := range map[string]fault.Kind{
		"INVALID_ARG":    fault.Rejected,
		"NOT_FOUND":      fault.NotFound,
		"INTERNAL":       fault.Internal,
		"UNKNOWN":        fault.Internal,
		"UNSUPPORTED":    fault.Internal,
		"ALREADY_EXISTS": fault.Internal,
	} {
		wantFault(t, fail(code), kind, "told to fail with "+code)
	}
	for _, code := range []string{"UNAVAILABLE", "CANCELLED"} {
		wantFault(t, fail(code), fault.Unavailable, "the inference server is not available")
	}
	const message = "Failed to process the request(s) for model 'conformance_fail_0_0', " +
		"message: ValueError: the model broke"
	if f := fault.As(fail("RAISE")); f.Kind != fault.Internal || !strings.HasPrefix(f.Message, message) {
		t.Errorf("an exception: %v", f)
	}
	if len(x.client.Live()) == 0 {
		t.Error("the error of a model made its replica unavailable")
	}
}
