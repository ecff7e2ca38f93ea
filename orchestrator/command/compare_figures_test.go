package command

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"retort/chem"
)

// Fewer than five rows do not show which model is better, and rows that are all equal do not show that none is.
func TestFewRowsAreUnclear(t *testing.T) {
	for rows := range 5 {
		zeros := make([]float64, rows)
		ones := make([]float64, rows)
		for i := range ones {
			ones[i] = 1
		}
		f := newFigure("", zeros, ones, true)
		if f.Better != "" || f.Low > f.Difference || f.High < f.Difference {
			t.Errorf("%d rows: %+v", rows, f)
		}
		if f := newFigure("", ones, ones, true); f.Low >= 0 || f.High <= 0 {
			t.Errorf("%d equal rows: %+v", rows, f)
		}
	}
	if f := newFigure("", make([]float64, 5), []float64{1, 1, 1, 1, 1}, true); f.Better != "B" {
		t.Errorf("five rows: %+v", f)
	}
	if f := newFigure("", []float64{0.2}, make([]float64, 1000), false); f.Better != "" {
		t.Errorf("one sample: %+v", f)
	}
}

// At least 92% of the intervals contain the true difference, for values that are 0 or 1 and for values between.
func TestIntervalsCoverTheDifference(t *testing.T) {
	const trials = 300
	random := rand.New(rand.NewPCG(3, 4))
	coin := func(p float64) float64 { return share(random.Float64() < p) }
	for name, draw := range map[string]struct {
		a, b     func() float64
		want     float64
		isPaired bool
	}{
		"rare wins":   {func() float64 { return coin(0.05) }, func() float64 { return coin(0.05) }, 0, true},
		"paired":      {func() float64 { return coin(0.6) }, func() float64 { return coin(0.8) }, 0.2, true},
		"near 1":      {func() float64 { return coin(0.95) }, func() float64 { return coin(0.98) }, 0.03, false},
		"separate":    {func() float64 { return coin(0.6) }, func() float64 { return coin(0.8) }, 0.2, false},
		"between":     {random.Float64, func() float64 { return random.Float64() / 2 }, -0.25, true},
		"both spread": {random.Float64, func() float64 { return random.Float64() / 2 }, -0.25, false},
	} {
		for _, rows := range []int{5, 15, 60} {
			covered := 0
			for range trials {
				a := make([]float64, rows)
				b := make([]float64, rows)
				for i := range a {
					a[i] = draw.a()
					b[i] = draw.b()
				}
				f := newFigure("", a, b, draw.isPaired)
				if f.Low <= draw.want+1e-9 && draw.want-1e-9 <= f.High {
					covered++
				}
			}
			if rate := float64(covered) / trials; rate < 0.92 {
				t.Errorf("%s, %d rows: %.3f of the intervals contain the difference", name, rows, rate)
			}
		}
	}
}

// Comparing all pairs of many molecules takes minutes, which an interrupt ends.
func TestJudgeIsInterrupted(t *testing.T) {
	generated := [][]generatedMolecule{{{SMILES: "CCO"}, {SMILES: "CCN"}}}
	known := make([]chem.Fingerprint, 1)
	ctx, interrupt := context.WithCancel(t.Context())
	if _, err := judge(ctx, 2, generated, known); err != nil {
		t.Error(err)
	}
	interrupt()
	if _, err := judge(ctx, 2, generated, known); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	passages := make([][]float32, 500)
	for i := range passages {
		passages[i] = []float32{float32(random.IntN(60))} // with equal ones
	}
	order := make([]int, len(passages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(passages[j][0] - passages[i][0]) })
	for _, count := range []int{1, 20, 500, 600} {
		if got := nearest([]float32{1}, passages, count); !slices.Equal(got, order[:min(count, len(order))]) {
			t.Errorf("%d: %v, want %v", count, got, order)
		}
	}
}
