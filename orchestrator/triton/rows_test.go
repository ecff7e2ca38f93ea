package triton_test

import (
	"reflect"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

func TestRowsOfAnOutput(t *testing.T) {
	response := &triton.Response{Model: "m", Outputs: []triton.Tensor{
		triton.Float32s("wide", []int64{2, 3}, []float32{1, 2, 3, 4, 5, 6}),
		triton.Halves(triton.FP16, "half", []int64{2, 1}, []float32{0.5, -2}),
		triton.Int64s("ids", []int64{2, 2}, []int64{7, 8, 9, 10}),
	}}
	for _, c := range []struct {
		output      string
		rows, width int
		want        [][]float32
	}{
		{"wide", 2, 3, [][]float32{{1, 2, 3}, {4, 5, 6}}},
		{"half", 2, 1, [][]float32{{0.5}, {-2}}},
		{"wide", 2, 2, nil},
		{"wide", 3, 3, nil},
		{"ids", 2, 2, nil},
		{"absent", 2, 2, nil},
	} {
		got, err := response.FloatRows(c.output, c.rows, c.width)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %d×%d: %v, want %v", c.output, c.rows, c.width, got, c.want)
		}
		if failed := err != nil; failed != (c.want == nil) || failed && fault.KindOf(err) != fault.Internal {
			t.Errorf("%s %d×%d: error %v", c.output, c.rows, c.width, err)
		}
	}
	ids, err := triton.Rows[int64](response, "ids", 2, -1)
	if want := [][]int64{{7, 8}, {9, 10}}; err != nil || !reflect.DeepEqual(ids, want) {
		t.Errorf("rows of any width: %v, %v", ids, err)
	}
	if cap(ids[0]) != 2 {
		t.Error("a row may grow into the next")
	}
	if _, err := triton.Rows[int64](response, "ids", 3, -1); fault.KindOf(err) != fault.Internal {
		t.Errorf("4 numbers in 3 rows: %v", err)
	}
}
