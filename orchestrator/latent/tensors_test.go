package latent

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDrawToken(t *testing.T) {
	logits := []float32{0, float32(math.Log(3)), float32(math.Inf(-1))}
	random := rand.New(rand.NewPCG(1, 2))
	if id, err := drawToken(logits, 0, random); err != nil || id != 1 {
		t.Errorf("the likeliest token is %d, %v, want 1", id, err)
	}
	const draws = 10_000
	var counts [3]int
	for range draws {
		id, err := drawToken(logits, 1, random)
		if err != nil {
			t.Fatal(err)
		}
		counts[id]++
	}
	if share := float64(counts[1]) / draws; math.Abs(share-0.75) > 0.02 || counts[2] > 0 {
		t.Errorf("draws of each token: %v, want a quarter, three quarters and none", counts)
	}
	infinite := float32(math.Inf(-1))
	for _, wrong := range [][]float32{{0, float32(math.NaN())}, {float32(math.Inf(1))}, {infinite, infinite}, {}} {
		if id, err := drawToken(wrong, 1, random); err == nil {
			t.Errorf("logits %v: token %d, want an error", wrong, id)
		}
	}
}

func TestFrame(t *testing.T) {
	row := []int32{7, 8, 9}
	for _, c := range []struct {
		encoderTensors
		want []int32
	}{
		{encoderTensors{bos: -1, eos: -1}, row},
		{encoderTensors{bos: -1, eos: -1, width: 2}, []int32{7, 8}},
		{encoderTensors{bos: 1, eos: 2}, []int32{1, 7, 8, 9, 2}},
		{encoderTensors{bos: 1, eos: 2, width: 4}, []int32{1, 7, 8, 2}},
	} {
		m := tritonModel{encoderTensors: c.encoderTensors}
		got := m.frame(row)
		if len(got) != len(c.want) {
			t.Fatalf("%+v: %v, want %v", c.encoderTensors, got, c.want)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%+v: %v, want %v", c.encoderTensors, got, c.want)
			}
		}
	}
}
