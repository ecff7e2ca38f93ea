package latent

import (
	"context"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// wide is a hidden state to decode with a beam of a size.
type wide struct {
	hidden []float32
	size   int
}

// unused is below the score of any beam: those a row did not ask for, in a
// call shared with rows of larger beams, have less.
const unused = -5e8

// encode is one call of the encoder: rows of similar length, padded to the longest.
func (n *network) encode(ctx context.Context, rows [][]int32) ([][]float32, error) {
	length := 1
	for _, row := range rows {
		length = max(length, len(row))
	}
	ids, mask := make([]int64, len(rows)*length), make([]int64, len(rows)*length)
	for i, row := range rows {
		for j := range length {
			at := i*length + j
			if j < len(row) {
				ids[at], mask[at] = int64(row[j]), 1
			} else {
				ids[at] = int64(n.vocabulary.PAD)
			}
		}
	}
	shape := []int64{int64(len(rows)), int64(length)}
	hiddens, err := n.call(ctx, n.encoder, tensorHiddens, triton.Int64s(inputIDs, shape, ids), triton.Int64s(inputMask, shape, mask))
	if err != nil {
		return nil, err
	}
	values, err := hiddens.Float32s()
	size := n.space.Size()
	if err != nil || len(values) != len(rows)*size {
		return nil, fault.Wrap(fault.Internal, err, "model %s answered %d numbers for %d rows of %d", n.encoder, len(values), len(rows), size)
	}
	out := make([][]float32, len(rows))
	for i := range out {
		out[i] = values[i*size : (i+1)*size : (i+1)*size]
	}
	return out, nil
}

// decode is one call of the decoder, which holds the whole loop.
func (n *network) decode(ctx context.Context, points []Point) ([]string, error) {
	rows := int64(len(points))
	temperatures, seeds := make([]float32, rows), make([]int64, rows)
	for i, p := range points {
		temperatures[i], seeds[i] = p.Temperature, p.Seed
	}
	output, err := n.call(ctx, n.decoder, outputTokens,
		states(points, n.space.Size(), func(p Point) []float32 { return p.Hidden }),
		triton.Float32s(inputTemperature, []int64{rows, 1}, temperatures), triton.Int64s(inputSeed, []int64{rows, 1}, seeds))
	if err != nil {
		return nil, err
	}
	ids, err := output.Int64s()
	if err != nil || len(output.Shape) != 2 || output.Shape[0] != rows {
		return nil, fault.Wrap(fault.Internal, err, "model %s answered tokens of shape %v for %d rows", n.decoder, output.Shape, rows)
	}
	out, length := make([]string, rows), int(output.Shape[1])
	for i := range out {
		if out[i], err = n.text(ids[i*length : (i+1)*length]); err != nil {
			return nil, fault.Wrap(fault.Internal, err, "model %s", n.decoder)
		}
	}
	return out, nil
}

// search is one call of the beam decoder. The beams of the answer are as many
// as the widest row asked for.
func (n *network) search(ctx context.Context, rows []wide) ([][]string, error) {
	count := int64(len(rows))
	sizes := make([]int64, count)
	for i, row := range rows {
		sizes[i] = int64(row.size)
	}
	request := &triton.Request{Model: n.beams, Outputs: []string{outputTokens, outputScore}, Inputs: []triton.Tensor{
		states(rows, n.space.Size(), func(w wide) []float32 { return w.hidden }), triton.Int64s(inputBeamSize, []int64{count, 1}, sizes)}}
	response, err := n.client.Infer(ctx, request)
	if err != nil {
		return nil, err
	}
	output, err := response.Output(outputTokens)
	if err != nil {
		return nil, err
	}
	ranks, err := response.Output(outputScore)
	if err != nil {
		return nil, err
	}
	ids, err := output.Int64s()
	if err != nil {
		return nil, err
	}
	scores, err := ranks.Float32s()
	if err != nil {
		return nil, err
	}
	if len(output.Shape) != 3 || output.Shape[0] != count || int64(len(scores)) != count*output.Shape[1] {
		return nil, fault.New(fault.Internal, "model %s answered tokens of shape %v and %d scores for %d rows", n.beams, output.Shape, len(scores), count)
	}
	return n.sorted(ids, scores, rows, int(output.Shape[1]), int(output.Shape[2]))
}

// sorted cuts the answer of a beam search into the texts of its rows.
func (n *network) sorted(ids []int64, scores []float32, rows []wide, beams, length int) ([][]string, error) {
	out := make([][]string, len(rows))
	for i := range out {
		for k := range beams {
			at := i*beams + k
			if scores[at] < unused || k >= rows[i].size {
				break
			}
			text, err := n.text(ids[at*length : (at+1)*length])
			if err != nil {
				return nil, fault.Wrap(fault.Internal, err, "model %s", n.beams)
			}
			out[i] = append(out[i], text)
		}
		if out[i] == nil {
			return nil, fault.New(fault.Internal, "model %s answered no beam for a row", n.beams)
		}
	}
	return out, nil
}

// states lays hidden states side by side: [rows, 1, size].
func states[Row any](rows []Row, size int, hidden func(Row) []float32) triton.Tensor {
	values := make([]float32, 0, len(rows)*size)
	for _, row := range rows {
		values = append(values, hidden(row)...)
	}
	return triton.Float32s(tensorHiddens, []int64{int64(len(rows)), 1, int64(size)}, values)
}

// text is the SMILES of the ids up to the end sign.
func (n *network) text(ids []int64) (string, error) {
	short := make([]int32, 0, len(ids))
	for _, id := range ids {
		short = append(short, int32(id))
		if id == int64(n.vocabulary.EOS) {
			break
		}
	}
	return n.tokenizer.Decode(short)
}

// call runs a model for one output.
func (n *network) call(ctx context.Context, model, output string, inputs ...triton.Tensor) (triton.Tensor, error) {
	response, err := n.client.Infer(ctx, &triton.Request{Model: model, Outputs: []string{output}, Inputs: inputs})
	if err != nil {
		return triton.Tensor{}, err
	}
	return response.Output(output)
}
