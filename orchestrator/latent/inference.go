package latent

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/triton"
)

// encode calls the encoder once for an output with size numbers per row.
func (m *tritonModel) encode(ctx context.Context, rows [][]int32, output string, size int) ([][]float32, error) {
	inputs, err := m.encoderInputs(rows)
	if err != nil {
		return nil, err
	}
	request := &triton.Request{Model: m.encoder, Outputs: []string{output}, Inputs: inputs}
	response, err := m.client.Infer(ctx, request)
	if err != nil {
		return nil, err
	}
	return response.FiniteRows(output, len(rows), size)
}

// encoderInputs returns the tensors of rows of token ids: their texts, or the ids padded to the longest row.
func (m *tritonModel) encoderInputs(rows [][]int32) ([]triton.Tensor, error) {
	if m.readsText {
		texts := make([]string, len(rows))
		for i, row := range rows {
			var err error
			if texts[i], err = m.tokenizer.Decode(row); err != nil {
				return nil, fault.Wrap(fault.Internal, err, "model %s", m.encoder)
			}
		}
		return []triton.Tensor{triton.Strings(tensorSMILES, []int64{int64(len(rows)), 1}, texts)}, nil
	}
	framed := make([][]int32, len(rows))
	length := max(1, m.width)
	for i, row := range rows {
		framed[i] = m.frame(row)
		length = max(length, len(framed[i]))
	}
	ids := make([]int64, len(rows)*length)
	mask := make([]int64, len(rows)*length)
	for i := range ids {
		ids[i] = int64(m.vocabulary.PAD)
	}
	for i, row := range framed {
		for j, id := range row {
			ids[i*length+j] = int64(id)
			mask[i*length+j] = 1
		}
	}
	shape := []int64{int64(len(rows)), int64(length)}
	inputs := []triton.Tensor{triton.Int64s(tensorIDs, shape, ids)}
	if m.hasMask {
		inputs = append(inputs, triton.Int64s(tensorMask, shape, mask))
	}
	return inputs, nil
}

// frame returns a row with the special tokens that the encoder expects. A search can make rows above max_model_len; a
// row with a fixed number of tokens is cut.
func (m *tritonModel) frame(row []int32) []int32 {
	if m.bos < 0 {
		if m.width > 0 && len(row) > m.width {
			return row[:m.width]
		}
		return row
	}
	if m.width > 0 && len(row) > m.width-2 {
		row = row[:m.width-2]
	}
	framed := make([]int32, 0, len(row)+2)
	framed = append(framed, m.bos)
	framed = append(framed, row...)
	return append(framed, m.eos)
}

// decode calls the decoder once, which writes whole texts.
func (m *tritonModel) decode(ctx context.Context, points []search.Point) ([]string, error) {
	temperatures := make([]float32, len(points))
	seeds := make([]int64, len(points))
	for i, p := range points {
		temperatures[i] = p.Temperature
		seeds[i] = p.Seed
	}
	hidden := func(p search.Point) []float32 { return p.Hidden }
	column := []int64{int64(len(points)), 1}
	inputs := []triton.Tensor{hiddenStates(points, m.decoding.shape, hidden)}
	if m.decoding.hasTemperature {
		inputs = append(inputs, triton.Float32s(tensorTemperature, column, temperatures))
	}
	if m.decoding.hasSeed {
		inputs = append(inputs, triton.Int64s(tensorSeed, column, seeds))
	}
	request := &triton.Request{Model: m.decoder, Outputs: []string{m.decoding.output}, Inputs: inputs}
	response, err := m.client.Infer(ctx, request)
	if err != nil {
		return nil, err
	}
	switch m.decoding.output {
	case tensorSMILES:
		return readTexts(response, len(points))
	case tensorLogits:
		return m.readLogits(response, points)
	}
	rows, err := triton.Rows[int64](response, tensorTokens, len(points), -1)
	if err != nil {
		return nil, err
	}
	return m.readTokens(m.decoder, rows)
}

// hiddenStates returns the input tensor of hidden states, each of a shape.
func hiddenStates[Row any](rows []Row, shape []int64, hidden func(Row) []float32) triton.Tensor {
	values := make([]float32, 0, len(rows)*triton.Tensor{Shape: shape}.Elements())
	for _, row := range rows {
		values = append(values, hidden(row)...)
	}
	return triton.Float32s(tensorHiddens, append([]int64{int64(len(rows))}, shape...), values)
}

// readTexts returns the SMILES that a decoder has written itself.
func readTexts(response *triton.Response, rows int) ([]string, error) {
	tensor, err := response.Output(tensorSMILES)
	if err != nil {
		return nil, err
	}
	values, err := tensor.Bytes()
	if err != nil {
		return nil, err
	}
	if len(values) != rows {
		return nil, fault.New(fault.Internal, "model %s: output %s has %d texts for %d rows",
			response.Model, tensorSMILES, len(values), rows)
	}
	texts := make([]string, rows)
	for i, value := range values {
		texts[i] = strings.ToValidUTF8(string(value), "?")
	}
	return texts, nil
}

// readLogits returns the texts of logits [rows, tokens, vocabulary]: at each position the likeliest token or, at a
// temperature above 0, one drawn with the point's seed.
func (m *tritonModel) readLogits(response *triton.Response, points []search.Point) ([]string, error) {
	tensor, err := response.Output(tensorLogits)
	if err != nil {
		return nil, err
	}
	if len(tensor.Shape) != 3 {
		return nil, fault.New(fault.Internal, "model %s: output %s has the shape %v, not [rows, tokens, vocabulary]",
			m.decoder, tensorLogits, tensor.Shape)
	}
	length := int(tensor.Shape[1])
	logits, err := response.FloatRows(tensorLogits, len(points)*length, m.vocabulary.Size())
	if err != nil {
		return nil, err
	}
	rows := make([][]int64, len(points))
	for i, p := range points {
		random := rand.New(rand.NewPCG(uint64(p.Seed), 0))
		rows[i] = make([]int64, length)
		for k := range length {
			if rows[i][k], err = drawToken(logits[i*length+k], p.Temperature, random); err != nil {
				return nil, fault.Wrap(fault.Internal, err, "model %s", m.decoder)
			}
		}
	}
	return m.readTokens(m.decoder, rows)
}

// drawToken returns the index of the highest logit at temperature 0. Above 0 it draws from the softmax: it adds Gumbel
// noise to the logits divided by the temperature. Logits may be -Inf.
func drawToken(logits []float32, temperature float32, random *rand.Rand) (int64, error) {
	best := int64(-1)
	highest := math.Inf(-1)
	for id, logit := range logits {
		value := float64(logit)
		if math.IsNaN(value) || math.IsInf(value, 1) {
			return 0, fmt.Errorf("output %s has %v for token %d", tensorLogits, logit, id)
		}
		if temperature > 0 {
			value = value/float64(temperature) - math.Log(-math.Log(1-random.Float64()))
		}
		if value > highest {
			best = int64(id)
			highest = value
		}
	}
	if best < 0 {
		return 0, fmt.Errorf("output %s has -Inf for all tokens", tensorLogits)
	}
	return best, nil
}

// readTokens returns the SMILES of each row of ids, up to its end token. An earlier id outside the vocabulary is an
// Internal error.
func (m *tritonModel) readTokens(model string, rows [][]int64) ([]string, error) {
	texts := make([]string, len(rows))
	for i, row := range rows {
		ids := make([]int32, 0, len(row))
		for _, id := range row {
			if id < 0 || id >= int64(m.vocabulary.Size()) {
				return nil, triton.InvalidTokens("model %s answered token %d of a vocabulary of %d",
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
