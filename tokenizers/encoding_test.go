package tokenizers

import (
	"slices"
	"testing"
)

func TestBatch(t *testing.T) {
	var b Batch
	long := &Encoding{IDs: []int32{5, 6, 7}, TypeIDs: []int32{0, 1, 1}}
	b.Fill([]*Encoding{long, long}, 9)
	b.Fill([]*Encoding{{IDs: []int32{1}, TypeIDs: []int32{0}}, long, {}}, 9)
	want := Batch{
		Rows: 3, Length: 3,
		InputIDs:      []int64{1, 9, 9, 5, 6, 7, 9, 9, 9},
		AttentionMask: []int64{1, 0, 0, 1, 1, 1, 0, 0, 0},
		TokenTypeIDs:  []int64{0, 0, 0, 0, 1, 1, 0, 0, 0},
	}
	if b.Rows != want.Rows || b.Length != want.Length || !slices.Equal(b.InputIDs, want.InputIDs) ||
		!slices.Equal(b.AttentionMask, want.AttentionMask) || !slices.Equal(b.TokenTypeIDs, want.TokenTypeIDs) {
		t.Errorf("got %+v, want %+v", b, want)
	}
	if !slices.Equal(b.Shape(), []int64{3, 3}) {
		t.Errorf("shape %v, want [3 3]", b.Shape())
	}
	b.Fill(nil, 0)
	if b.Rows != 0 || b.Length != 0 || len(b.InputIDs) != 0 {
		t.Errorf("batch without encodings: got %+v", b)
	}
}

func TestBatchReusesBuffers(t *testing.T) {
	var b Batch
	e := []*Encoding{{IDs: make([]int32, 64), TypeIDs: make([]int32, 64)}}
	b.Fill(e, 0)
	if n := testing.AllocsPerRun(10, func() { b.Fill(e, 0) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
