package latent

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search/toy"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// withAnswers wraps a model so that change edits its answers.
func withAnswers(model tritontest.Model, change func([]triton.Tensor)) tritontest.Model {
	infer := model.Infer
	model.Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		response, err := infer(ctx, r)
		if err == nil {
			change(response.Outputs)
		}
		return response, err
	}
	return model
}

// firstID sets the first token id of each answer.
func firstID(id int64) func([]triton.Tensor) {
	return func(outputs []triton.Tensor) {
		values, _ := triton.Values[int64](outputs[0])
		values = slices.Clone(values)
		values[0] = id
		outputs[0] = triton.Int64s(tensorTokens, outputs[0].Shape, values)
	}
}

// lastNumber sets the last number of an output.
func lastNumber(output int, name string, value float64) func([]triton.Tensor) {
	return func(outputs []triton.Tensor) {
		values, _ := outputs[output].Floats()
		values = slices.Clone(values)
		values[len(values)-1] = float32(value)
		outputs[output] = triton.Float32s(name, outputs[output].Shape, values)
	}
}

// swapDimensions swaps the first and the last dimension of an output.
func swapDimensions(output int) func([]triton.Tensor) {
	return func(outputs []triton.Tensor) {
		shape := slices.Clone(outputs[output].Shape)
		shape[0], shape[len(shape)-1] = shape[len(shape)-1], shape[0]
		outputs[output].Shape = shape
	}
}

// Answers that contradict the model's entry fail the request; only the log names the model. The gateway goes on
// serving.
func TestInvalidAnswersOfAModel(t *testing.T) {
	const encoder, decoder, beams = 0, 1, 2
	decode, _ := json.Marshal(body{
		"hiddens": [][][]float32{{toy.Encode(plain)}, {toy.Encode(plain)}},
		"mask":    [][]bool{{true}, {true}},
	})
	const hidden = `{"sequences": ["` + plain + `", "` + plain + `"]}` // of one length, so that they share a call
	const sampling = `{"sequences": ["` + plain + `"], "num_molecules": 2, "beam_size": 3}`
	const generate = `{"smi": "` + plain + `", "iterations": 2}`
	nan := math.NaN()
	for name, c := range map[string]struct {
		model  int
		change func([]triton.Tensor)
		path   string
		body   string
	}{
		"an id after the vocabulary":      {decoder, firstID(int64(len(toy.Vocabulary))), "/decode", string(decode)},
		"a negative id":                   {decoder, firstID(-1), "/decode", string(decode)},
		"an id of more than 32 bits":      {decoder, firstID(1<<32 + 7), "/decode", string(decode)},
		"a large id in a search":          {decoder, firstID(1<<32 + 7), "/generate", generate},
		"ids with swapped dimensions":     {decoder, swapDimensions(0), "/decode", string(decode)},
		"an id of a beam":                 {beams, firstID(1<<32 + 7), "/sampling", sampling},
		"a score of a beam that is NaN":   {beams, lastNumber(1, tensorScore, nan), "/sampling", sampling},
		"an infinite score of a beam":     {beams, lastNumber(1, tensorScore, math.Inf(1)), "/sampling", sampling},
		"a hidden state that is NaN":      {encoder, lastNumber(0, tensorHiddens, nan), "/hidden", hidden},
		"an embedding that is NaN":        {encoder, lastNumber(0, tensorHiddens, nan), "/embedding", hidden},
		"an infinite hidden state":        {encoder, lastNumber(0, tensorHiddens, math.Inf(-1)), "/hidden", hidden},
		"hiddens with swapped dimensions": {encoder, swapDimensions(0), "/hidden", hidden},
		"a seed of a search that is NaN":  {encoder, lastNumber(0, tensorHiddens, nan), "/generate", generate},
	} {
		t.Run(name, func(t *testing.T) {
			models := toyModels(t, 0)
			models[c.model] = withAnswers(models[c.model], c.change)
			r := start(t, standard, models...)
			status, text := r.post(c.path, c.body)
			if status != http.StatusInternalServerError || text != `{"detail":"Internal server error"}` {
				t.Errorf("%d %s", status, text)
			}
			if status, text := r.post("/embedding", `{"sequences": []}`); status != http.StatusUnprocessableEntity {
				t.Errorf("afterwards: %d %s", status, text)
			}
		})
	}
	models := toyModels(t, 0)
	models[encoder] = withAnswers(models[encoder], lastNumber(0, tensorHiddens, nan))
	r := start(t, standard, models...)
	_, err := r.service.Hidden(t.Context(), Sequences{Sequences: []string{plain}})
	if err == nil || !strings.Contains(err.Error(), "model latent_encoder") {
		t.Errorf("%v", err)
	}
}

// A panic in the goroutine of a search is an error of its request.
func TestAPanicInASearchIsAnError(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	var request Generate
	request.SetDefaults()
	request.Smi.Smiles = []string{plain}
	err := r.service.Stream(t.Context(), request, func(any) error { panic("no such client") })
	if err == nil || fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), "no such client") {
		t.Errorf("%v", err)
	}
}
