package tokenizers

import (
	"math"
	"strconv"
	"testing"
)

func TestParseScore(t *testing.T) {
	rounded := 0
	rows(t, "testdata/scores.jsonl.gz", func(g struct {
		Text  string
		Value float64
	}) {
		got, err := parseScore(g.Text)
		if err != nil || got != g.Value || math.Signbit(got) != math.Signbit(g.Value) {
			t.Errorf("%s: %v, want %v, %v", g.Text, got, g.Value, err)
		}
		if nearest, _ := strconv.ParseFloat(g.Text, 64); nearest != g.Value {
			rounded++
		}
	})
	if rounded == 0 {
		t.Error("no score among the golden ones that is not the nearest number")
	}
}
