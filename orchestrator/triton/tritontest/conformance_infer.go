package tritontest

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// datatypes sends the extremes of each datatype through the identity model.
func (x *trial) datatypes(t *testing.T) {
	n := []int64{3}
	round(x, t, "BOOL", []bool{true, false, true})
	round(x, t, "UINT8", []uint8{0, 1, math.MaxUint8})
	round(x, t, "UINT16", []uint16{0, 1, math.MaxUint16})
	round(x, t, "UINT32", []uint32{0, 1, math.MaxUint32})
	round(x, t, "UINT64", []uint64{0, 1, math.MaxUint64})
	round(x, t, "INT8", []int8{math.MinInt8, -1, math.MaxInt8})
	round(x, t, "INT16", []int16{math.MinInt16, -1, math.MaxInt16})
	round(x, t, "INT32", []int32{math.MinInt32, -1, math.MaxInt32})
	round(x, t, "INT64", []int64{math.MinInt64, -1, math.MaxInt64})
	round(x, t, "FP32", []float32{-0.1, math.MaxFloat32, float32(math.Inf(-1))})
	round(x, t, "FP64", []float64{-0.1, math.MaxFloat64, math.Inf(1)})
	for _, half := range []triton.Datatype{triton.FP16, triton.BF16} {
		want := []float32{-1.5, 0.25, float32(math.Inf(1))}
		got, err := x.output(t, triton.Halves(half, string(half), n, want)).Floats()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v; want %v", half, got, err, want)
		}
	}
}

func round[T triton.Element](x *trial, t *testing.T, name string, want []T) {
	t.Helper()
	for _, values := range [][]T{want, want[:1], {}} {
		got, err := triton.Values[T](x.output(t, triton.New(name, []int64{int64(len(values))}, values)))
		if err != nil || !slices.Equal(got, values) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, values)
		}
	}
}

// output sends one tensor through the identity model.
func (x *trial) output(t *testing.T, in triton.Tensor) triton.Tensor {
	t.Helper()
	out, err := x.infer(t, "conformance_identity", in).Output(in.Name)
	if err != nil {
		t.Fatal(err)
	}
	if out.Datatype != in.Datatype || !slices.Equal(out.Shape, in.Shape) {
		t.Fatalf("sent %s %v, got %s %v", in.Datatype, in.Shape, out.Datatype, out.Shape)
	}
	return out
}

func (x *trial) bytes(t *testing.T) {
	for _, want := range [][][]byte{
		{}, {{}}, {[]byte("a"), {}, []byte("Grüße, 分子")}, {{0}, {0xff, 0xfe, 0}, bytes.Repeat([]byte{7}, 100_000)},
	} {
		got, err := x.output(t, triton.Bytes("BYTES", []int64{int64(len(want))}, want)).Bytes()
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

// large is above gRPC's default limit of 4 MiB in both directions.
func (x *trial) large(t *testing.T) {
	want := make([]float32, 3<<20)
	for i := range want {
		want[i] = float32(i)
	}
	got, err := x.output(t, triton.Float32s("FP32", []int64{int64(len(want))}, want)).Float32s()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d values came back as %d, %v", len(want), len(got), err)
	}
}

// requests looks at the parts of a request beside its inputs.
func (x *trial) requests(t *testing.T) {
	one := triton.Float32s("FP32", []int64{1}, []float32{1})
	two := triton.Int64s("INT64", []int64{1}, []int64{2})
	r, err := x.client.Infer(x.ctx(t), &triton.Request{
		Model: "conformance_identity", Version: "1", ID: "an id", Inputs: []triton.Tensor{one, two}, Outputs: []string{"INT64"},
		Parameters: map[string]any{"bool": true, "int": 1, "text": "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Model != "conformance_identity" || r.Version != "1" || r.ID != "an id" || len(r.Outputs) != 1 {
		t.Errorf("response: %+v", r)
	}
	_, err = x.client.Infer(x.ctx(t), &triton.Request{Model: "conformance_identity", Parameters: map[string]any{"mine": uint64(1)}})
	refused(t, err, fault.Invalid, "invalid value type for 'mine' parameter, expected int64_param, bool_param, or string_param.")
	if _, err := r.Output("FP32"); fault.KindOf(err) != fault.Internal {
		t.Errorf("an output that was not asked for: %v", err)
	}
}

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
		refused(t, err, fault.Invalid, c.message)
	}
	_, err := x.client.Infer(x.ctx(t), &triton.Request{Model: "conformance_count", Inputs: []triton.Tensor{number("N", 1)}})
	refused(t, err, fault.Internal, "ModelInfer RPC doesn't support models with decoupled transaction policy")
}

// number is a one-element INT32 tensor.
func number(name string, value int32) triton.Tensor {
	return triton.Int32s(name, []int64{1}, []int32{value})
}

// modelErrors are what a model says itself.
func (x *trial) modelErrors(t *testing.T) {
	for code, kind := range map[string]fault.Kind{
		"INVALID_ARG": fault.Invalid, "NOT_FOUND": fault.NotFound, "INTERNAL": fault.Internal, "UNKNOWN": fault.Internal,
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
	if f := fault.As(err); f.Kind != fault.Internal || !bytes.HasPrefix([]byte(f.Message),
		[]byte("Failed to process the request(s) for model 'conformance_fail_0_0', message: ValueError: the model broke")) {
		t.Errorf("an exception: %v", err)
	}
	if !x.client.Live() {
		t.Error("a model's error took its server out of use")
	}
}

// sleep asks the slow model, with a context of the caller's.
func (x *trial) sleep(ctx context.Context, milliseconds int32, parameters map[string]any) (*triton.Response, error) {
	return x.client.Infer(ctx, &triton.Request{Model: "conformance_slow", Parameters: parameters,
		Inputs: []triton.Tensor{triton.Int32s("MILLISECONDS", []int64{1, 1}, []int32{milliseconds})}})
}

// deadline and cancellation end the work on the server as well: the slow model
// serves one request at a time, so the next one shows it.
func (x *trial) deadline(t *testing.T) {
	started := time.Now()
	ctx, cancel := context.WithTimeout(x.ctx(t), 100*time.Millisecond)
	defer cancel()
	_, err := x.sleep(ctx, 20_000, nil)
	refused(t, err, fault.Timeout, "the request took longer than its time limit")

	ctx, cancel = context.WithCancel(x.ctx(t))
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = x.sleep(ctx, 20_000, nil)
	refused(t, err, fault.Canceled, "the request was canceled")

	r, err := x.sleep(x.ctx(t), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := r.Output("CANCELED")
	if canceled, err := out.Int32s(); err != nil || canceled[0] < 2 {
		t.Errorf("the model saw %v of 2 callers leave, %v", canceled, err)
	}
	if took := time.Since(started); took > 3*time.Second {
		t.Errorf("the model worked on for %v", took)
	}
}

// fullQueue lets one request run and one wait. Which of several are refused is
// left open: with such a limit tritonserver 2.51 now and then lets half a
// second pass before it looks at its queue.
func (x *trial) fullQueue(t *testing.T) {
	x.reconfigure(t, map[string]any{"default_queue_policy": map[string]any{
		"max_queue_size": 1, "default_timeout_microseconds": 20_000_000, "allow_timeout_override": true}})
	errs := make([]error, 5)
	var calls sync.WaitGroup
	for i := range errs {
		calls.Go(func() { _, errs[i] = x.sleep(x.ctx(t), 300, nil) })
	}
	calls.Wait()
	answered := 0
	for _, err := range errs {
		if err == nil {
			answered++
			continue
		}
		refused(t, err, fault.Overloaded, "Exceeds maximum queue size")
		if fault.As(err).RetryAfter <= 0 {
			t.Error("no hint when to come back")
		}
	}
	if answered == 0 || answered > 2 {
		t.Errorf("%d of %d requests were answered, want 1 or 2", answered, len(errs))
	}
	x.queueTimeout(t)
}

// queueTimeout gives a request 50 ms in the queue behind one that runs longer.
func (x *trial) queueTimeout(t *testing.T) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for range 5 {
		calls.Go(func() { _, _ = x.sleep(x.ctx(t), 400, nil) })
		time.Sleep(100 * time.Millisecond)
		_, err := x.sleep(x.ctx(t), 0, map[string]any{"timeout": int64(50_000)})
		if err != nil && fault.As(err).Message != "Exceeds maximum queue size" {
			refused(t, err, fault.Overloaded, "Request timeout expired")
			return
		}
		calls.Wait()
	}
	t.Error("no request ran out of its time in the queue")
}
