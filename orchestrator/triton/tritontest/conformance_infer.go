package tritontest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// datatypes sends the extremes of each datatype through the identity model.
func (x *suite) datatypes(t *testing.T) {
	shape := []int64{3}
	testRoundTrip(x, t, "BOOL", []bool{true, false, true})
	testRoundTrip(x, t, "UINT8", []uint8{0, 1, math.MaxUint8})
	testRoundTrip(x, t, "UINT16", []uint16{0, 1, math.MaxUint16})
	testRoundTrip(x, t, "UINT32", []uint32{0, 1, math.MaxUint32})
	testRoundTrip(x, t, "UINT64", []uint64{0, 1, math.MaxUint64})
	testRoundTrip(x, t, "INT8", []int8{math.MinInt8, -1, math.MaxInt8})
	testRoundTrip(x, t, "INT16", []int16{math.MinInt16, -1, math.MaxInt16})
	testRoundTrip(x, t, "INT32", []int32{math.MinInt32, -1, math.MaxInt32})
	testRoundTrip(x, t, "INT64", []int64{math.MinInt64, -1, math.MaxInt64})
	testRoundTrip(x, t, "FP32", []float32{-0.1, math.MaxFloat32, float32(math.Inf(-1))})
	testRoundTrip(x, t, "FP64", []float64{-0.1, math.MaxFloat64, math.Inf(1)})
	for _, half := range []triton.Datatype{triton.FP16, triton.BF16} {
		want := []float32{-1.5, 0.25, float32(math.Inf(1))}
		got, err := x.output(t, triton.Halves(half, string(half), shape, want)).Floats()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v; want %v", half, got, err, want)
		}
	}
}

// testRoundTrip sends values through the identity model.
func testRoundTrip[T triton.Element](x *suite, t *testing.T, name string, want []T) {
	t.Helper()
	for _, values := range [][]T{want, want[:1], {}} {
		got, err := triton.Values[T](x.output(t, triton.New(name, []int64{int64(len(values))}, values)))
		if err != nil || !slices.Equal(got, values) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, values)
		}
	}
}

// output sends one tensor through the identity model.
func (x *suite) output(t *testing.T, in triton.Tensor) triton.Tensor {
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

func (x *suite) bytes(t *testing.T) {
	for _, want := range [][]string{
		{}, {""}, {"a", "", "Grüße, 分子"}, {"\x00", "\xff\xfe\x00", strings.Repeat("\a", 100_000)},
	} {
		got, err := Texts(x.output(t, triton.Strings("BYTES", []int64{int64(len(want))}, want)))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

// large sends and receives a message above gRPC's default limit of 4 MiB.
func (x *suite) large(t *testing.T) {
	want := make([]float32, 3<<20)
	for i := range want {
		want[i] = float32(i)
	}
	out := x.output(t, triton.Float32s("FP32", []int64{int64(len(want))}, want))
	got, err := triton.Values[float32](out)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d values came back as %d, %v", len(want), len(got), err)
	}
}

// requests tests the fields of a request other than its inputs.
func (x *suite) requests(t *testing.T) {
	one := triton.Float32s("FP32", []int64{1}, []float32{1})
	two := triton.Int64s("INT64", []int64{1}, []int64{2})
	r, err := x.client.Infer(x.ctx(t), &triton.Request{
		Model:      "conformance_identity",
		Version:    "1",
		ID:         "an id",
		Inputs:     []triton.Tensor{one, two},
		Outputs:    []string{"INT64"},
		Parameters: map[string]any{"bool": true, "int": 1, "text": "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Model != "conformance_identity" || r.Version != "1" || r.ID != "an id" || len(r.Outputs) != 1 {
		t.Errorf("response: %+v", r)
	}
	_, err = x.client.Infer(x.ctx(t), &triton.Request{
		Model:      "conformance_identity",
		Parameters: map[string]any{"mine": uint64(1)},
	})
	wantFault(t, err, fault.Rejected,
		"invalid value type for 'mine' parameter, expected int64_param, bool_param, or string_param.")
	if _, err := r.Output("FP32"); fault.KindOf(err) != fault.Internal {
		t.Errorf("an output that was not requested: %v", err)
	}
}
