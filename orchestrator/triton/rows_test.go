package triton_test

import (
	"math"
	"reflect"
	"strings"
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
	for _, c := range []struct {
		shape       []int64
		rows, width int
		want        bool
	}{
		{[]int64{6}, 6, 1, true},
		{[]int64{2, 3, 1}, 6, 1, true},
		{[]int64{2, 1, 3}, 2, 3, true},
		{[]int64{1, 6}, 6, 1, true},
		{[]int64{6}, 1, 6, true},
		{[]int64{3, 2}, 2, 3, false},
		{[]int64{6}, 2, 3, false},
		{[]int64{1, 3, 2}, 2, 3, false},
	} {
		output := triton.Float32s("out", c.shape, make([]float32, 6))
		shaped := &triton.Response{Model: "m", Outputs: []triton.Tensor{output}}
		_, err := shaped.FloatRows("out", c.rows, c.width)
		if (err == nil) != c.want || err != nil && fault.KindOf(err) != fault.Internal {
			t.Errorf("%v as %d rows of %d: %v", c.shape, c.rows, c.width, err)
		}
	}
	if cap(ids[0]) != 2 {
		t.Error("a row has spare capacity")
	}
	if _, err := triton.Rows[int64](response, "ids", 3, -1); fault.KindOf(err) != fault.Internal {
		t.Errorf("4 numbers as 3 rows: %v", err)
	}
}

func TestFiniteRows(t *testing.T) {
	infinite := float32(math.Inf(1))
	for name, values := range map[string][]float32{
		"":     {1, 2, 3, -4},
		"NaN":  {1, 2, 3, infinite - infinite},
		"+Inf": {infinite, 2, 3, 4},
		"-Inf": {1, -infinite, 3, 4},
	} {
		output := triton.Float32s("out", []int64{2, 2}, values)
		response := &triton.Response{Model: "vectors", Outputs: []triton.Tensor{output}}
		rows, err := response.FiniteRows("out", 2, 2)
		if name == "" {
			if err != nil || rows[1][1] != -4 {
				t.Errorf("%v %v", rows, err)
			}
			continue
		}
		if rows != nil || err == nil || fault.KindOf(err) != fault.Internal ||
			!strings.Contains(err.Error(), "model vectors: output out has "+name) {
			t.Errorf("%s: %v %v", name, rows, err)
		}
	}
}
