package latent

import (
	"context"
	"math"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// beamRow is a hidden state to decode by beam search.
type beamRow struct {
	hidden []float32
	size   int // number of beams
}

// minBeamScore is a lower bound of the scores of beams, which are sums of log-probabilities. All rows of a call have as
// many beams as the largest row; the beam decoder gives surplus beams a lower score.
const minBeamScore = -5e8

// searchBeams calls the beam decoder once and returns the texts of each row, the likeliest first.
func (m *tritonModel) searchBeams(ctx context.Context, rows []beamRow) ([][]string, error) {
	sizes := make([]int64, len(rows))
	for i, row := range rows {
		sizes[i] = int64(row.size)
	}
	response, err := m.client.Infer(ctx, &triton.Request{
		Model: m.beamDecoder, Outputs: []string{tensorTokens, tensorScore},
		Inputs: []triton.Tensor{
			hiddenStates(rows, m.beamHiddens, func(row beamRow) []float32 { return row.hidden }),
			triton.Int64s(tensorBeamSize, []int64{int64(len(rows)), 1}, sizes),
		},
	})
	if err != nil {
		return nil, err
	}
	scores, err := triton.Rows[float32](response, tensorScore, len(rows), -1)
	if err != nil {
		return nil, err
	}
	tokens, err := triton.Rows[int64](response, tensorTokens, len(rows)*len(scores[0]), -1)
	if err != nil {
		return nil, err
	}
	return m.beamTexts(rows, scores, tokens)
}

// beamTexts returns the texts of each row of a beam search. tokens has one row per beam; the beams of a row are
// adjacent.
func (m *tritonModel) beamTexts(rows []beamRow, scores [][]float32, tokens [][]int64) ([][]string, error) {
	texts := make([][]string, len(rows))
	for i, row := range rows {
		count := 0
		for count < min(row.size, len(scores[i])) {
			score := float64(scores[i][count])
			if math.IsNaN(score) || math.IsInf(score, 1) {
				return nil, fault.New(fault.Internal, "model %s answered %v as the score of a beam",
					m.beamDecoder, score)
			}
			if score < minBeamScore {
				break
			}
			count++
		}
		if count == 0 {
			return nil, fault.New(fault.Internal, "model %s answered no beam for a row", m.beamDecoder)
		}
		first := i * len(scores[i])
		var err error
		if texts[i], err = m.readTokens(m.beamDecoder, tokens[first:first+count]); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
