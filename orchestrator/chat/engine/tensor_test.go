package engine

import (
	"math"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// TestTokenCount checks that a count may have any integer datatype and shape, and that anything else is an Internal
// fault.
func TestTokenCount(t *testing.T) {
	for _, test := range []struct {
		tensor triton.Tensor
		want   int // -1: refused
	}{
		{triton.New("n", nil, []uint32{7}), 7},
		{triton.New("n", []int64{1}, []int32{7}), 7},
		{triton.New("n", []int64{1, 1}, []int64{7}), 7},
		{triton.New("n", []int64{1}, []uint64{7}), 7},
		{triton.New("n", []int64{0}, []uint32{}), 0},
		{triton.New("n", []int64{1}, []int32{-1}), -1},
		{triton.New("n", []int64{1}, []int64{math.MinInt64}), -1},
		{triton.New("n", []int64{1}, []uint64{math.MaxUint64}), -1},
		{triton.New("n", []int64{1}, []float32{7}), -1},
		{triton.Raw("n", triton.UINT32, []int64{2}, []byte{1, 0, 0, 0}), -1},
	} {
		got, err := tokenCount(test.tensor)
		if test.want >= 0 && (err != nil || got != test.want) || test.want < 0 && fault.KindOf(err) != fault.Internal {
			t.Errorf("%s %v: %d, %v, want %d", test.tensor.Datatype, test.tensor.Raw(), got, err, test.want)
		}
	}
}
