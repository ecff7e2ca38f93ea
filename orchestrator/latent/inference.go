package latent

import (
	"context"

	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/triton"
)

// encode calls the encoder once for an output with size numbers per row. Rows are padded to the longest.
func (m *tritonModel) encode(ctx context.Context, rows [][]int32, output string, size int) ([][]float32, error) {
	length := 1
	for _, row := range rows {
		length = max(length, len(row))
	}
	ids := make([]int64, len(rows)*length)
	mask := make([]int64, len(rows)*length)
	for i := range ids {
		ids[i] = int64(m.vocabulary.PAD)
	}
	for i, row := range rows {
		for j, id := range row {
			ids[i*length+j] = int64(id)
			mask[i*length+j] = 1
		}
	}
	shape := []int64{int64(len(rows)), int64(length)}
	response, err := m.client.Infer(ctx, &triton.Request{
		Model: m.encoder, Outputs: []string{output},
		Inputs: []triton.Tensor{triton.Int64s(tensorIDs, shape, ids), triton.Int64s(tensorMask, shape, mask)},
	})
	if err != nil {
		return nil, err
	}
	return response.FiniteRows(output, len(rows), size)
}

// decode calls the decoder once, which writes whole texts.
func (m *tritonModel) decode(ctx context.Context, points []search.Point) ([]string, error) {
	temperatures := make([]float32, len(points))
	seeds := make([]int64, len(points))
	for i, p := range points {
		temperatures[i] = p.Temperature
		seeds[i] = p.Seed
	}
	column := []int64{int64(len(points)), 1}
	response, err := m.client.Infer(ctx, &triton.Request{
		Model: m.decoder, Outputs: []string{tensorTokens},
		Inputs: []triton.Tensor{
			hiddenStates(points, m.space.Size(), func(p search.Point) []float32 { return p.Hidden }),
			triton.Float32s(tensorTemperature, column, temperatures),
			triton.Int64s(tensorSeed, column, seeds),
		},
	})
	if err != nil {
		return nil, err
	}
	rows, err := triton.Rows[int64](response, tensorTokens, len(points), -1)
	if err != nil {
		return nil, err
	}
	return m.texts(m.decoder, rows)
}

// hiddenStates returns the input tensor of hidden states: [rows, 1, size].
func hiddenStates[Row any](rows []Row, size int, hidden func(Row) []float32) triton.Tensor {
	values := make([]float32, 0, len(rows)*size)
	for _, row := range rows {
		values = append(values, hidden(row)...)
	}
	return triton.Float32s(tensorHiddens, []int64{int64(len(rows)), 1, int64(size)}, values)
}

// texts returns the SMILES of each row of ids, up to its end token. An earlier id outside the vocabulary is an Internal
// error.
func (m *tritonModel) texts(model string, rows [][]int64) ([]string, error) {
	texts := make([]string, len(rows))
	for i, row := range rows {
		ids := make([]int32, 0, len(row))
		for _, id := range row {
			if id < 0 || id >= int64(m.vocabulary.Size()) {
				return nil, fault.New(fault.Internal, "model %s answered token %d of a vocabulary of %d",
					model, id, m.vocabulary.Size())
			}
			ids = append(ids, int32(id))
			if id == int64(m.vocabulary.EOS) {
				break
			}
		}
		var err error
		if texts[i], err = m.tokenizer.Decode(ids); err != nil {
			return nil, fault.Wrap(fault.Internal, err, "model %s", model)
		}
	}
	return texts, nil
}
