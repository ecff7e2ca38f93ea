package engine

import (
	"fmt"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// TestNumberTensor checks that numbers get the declared datatype, and that integers stay exact.
func TestNumberTensor(t *testing.T) {
	const long = int64(1)<<53 + 1 // not a float64
	for _, test := range []struct {
		datatype triton.Datatype
		value    any
		want     string
	}{
		{triton.INT64, long, "[9007199254740993]"},
		{triton.UINT64, long, "[9007199254740993]"},
		{triton.UINT64, int64(-1), "[18446744073709551615]"},
		{triton.INT32, long, "[1]"},
		{triton.UINT32, int64(-1), "[4294967295]"},
		{triton.INT32, 7, "[7]"},
		{triton.FP32, 0.5, "[0.5]"},
		{triton.FP64, 3, "[3]"},
		{triton.BOOL, true, "[true]"},
		{triton.INT32, false, "[0]"},
	} {
		m := model{config: &triton.ModelConfig{Inputs: []triton.TensorInfo{{Name: "x", Datatype: test.datatype}}}}
		tensor, err := m.numberTensor("x", test.value)
		if got := values(t, tensor); err != nil || got != test.want {
			t.Errorf("%v as %s: got %s, %v, want %s", test.value, test.datatype, got, err, test.want)
		}
	}
	m := model{config: &triton.ModelConfig{Inputs: []triton.TensorInfo{{Name: "x", Datatype: triton.BYTES}}}}
	if _, err := m.numberTensor("x", 1); fault.KindOf(err) != fault.Internal {
		t.Errorf("a number as BYTES: got %v, want an Internal fault", err)
	}
}

func values(t *testing.T, tensor triton.Tensor) string {
	t.Helper()
	show := func(values any, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(values)
	}
	switch tensor.Datatype {
	case triton.INT32:
		return show(triton.Values[int32](tensor))
	case triton.UINT32:
		return show(triton.Values[uint32](tensor))
	case triton.INT64:
		return show(triton.Values[int64](tensor))
	case triton.UINT64:
		return show(triton.Values[uint64](tensor))
	case triton.FP32:
		return show(triton.Values[float32](tensor))
	case triton.FP64:
		return show(triton.Values[float64](tensor))
	}
	return show(triton.Values[bool](tensor))
}
