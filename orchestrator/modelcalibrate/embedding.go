package modelcalibrate

import (
	"context"
	"fmt"
	"math"

	"retort/orchestrator/calibration"
	"retort/orchestrator/embedding"
)

const (
	// minTexts is the fewest texts of Embedding: the 99.9th percentile needs a thousand pairs.
	minTexts = 46
	// textsOfCall is the number of texts that are embedded at once.
	textsOfCall = 64
)

// Embedding returns the percentiles of the cosine similarity of two texts of a list, over all pairs of different ones.
// Of a model with two modes, one of the two texts is a query and the other a passage.
func Embedding(ctx context.Context, o Options, texts []string) (p calibration.Percentiles, pairs int, err error) {
	if len(texts) < minTexts {
		return nil, 0, fmt.Errorf("percentiles need at least %d different texts, not %d", minTexts, len(texts))
	}
	err = withModel(ctx, o, embedding.Opener, func(m embedding.Model) error {
		modes := []string{"", ""}
		if m.About().TwoModes {
			modes = []string{"query", "passage"}
		}
		a, err := embed(ctx, o, m, texts, modes[0])
		if err != nil {
			return err
		}
		b := a
		if modes[1] != modes[0] {
			if b, err = embed(ctx, o, m, texts, modes[1]); err != nil {
				return err
			}
		}
		var cosines []float64
		for i := range a {
			for j := range b {
				if i < j || i > j && modes[0] != modes[1] {
					cosines = append(cosines, dot(a[i], b[j]))
				}
			}
		}
		p, pairs = calibration.PercentilesOf(cosines), len(cosines)
		return nil
	})
	return p, pairs, err
}

// embed returns the vectors of texts with length 1.
func embed(
	ctx context.Context, o Options, m embedding.Model, texts []string, mode string,
) (vectors [][]float32, err error) {
	for from := 0; from < len(texts); from += textsOfCall {
		part := texts[from:min(from+textsOfCall, len(texts))]
		rows, _, err := m.Embed(ctx, embedding.Texts{Texts: part, Mode: mode, Truncate: "END"})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			length := float32(math.Sqrt(max(dot(row, row), math.SmallestNonzeroFloat32)))
			unit := make([]float32, len(row))
			for i, x := range row {
				unit[i] = x / length
			}
			vectors = append(vectors, unit)
		}
		o.progress(len(vectors), len(texts))
	}
	return vectors, nil
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
