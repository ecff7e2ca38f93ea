package latent

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/latent/search/toy"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// With skip_invalid what cannot be read is null at its place; without it all is refused, and every such row is named.
func TestSkipInvalid(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	rows := []string{"not a molecule", plain, "C[Si]C", ibuprofen}
	for path, field := range map[string]string{"/embedding": "sequences", "/hidden": "sequences", "/sampling": "sequences", "/generate": "smi"} {
		bare := body{field: rows}
		if path == "/generate" {
			bare["iterations"] = 1
		}
		text, status := r.refuse(path, bare)
		if status != 422 || !strings.Contains(text, `"`+field+`",0`) || !strings.Contains(text, `"`+field+`",2`) || strings.Contains(text, `"`+field+`",1`) {
			t.Errorf("%s: %d %s", path, status, text)
		}
		bare["skip_invalid"] = true
		for _, list := range ask[map[string][]any](r, path, bare) {
			if len(list) != 4 || list[0] != nil || list[2] != nil || list[1] == nil || list[3] == nil {
				t.Errorf("%s: %v", path, list)
			}
		}
		bare[field] = rows[:1]
		for _, list := range ask[map[string][]any](r, path, bare) {
			if !reflect.DeepEqual(list, []any{nil}) {
				t.Errorf("%s of nothing that can be read: %v", path, list)
			}
		}
	}
}

// What /hidden answers goes through /decode as it is, null rows too.
func TestNullGoesThroughDecode(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	hidden := ask[Hidden](r, "/hidden", body{"sequences": []string{"C1CC", plain}, "skip_invalid": true})
	back := ask[Decoded](r, "/decode", body{"hiddens": hidden.Hiddens, "mask": hidden.Mask})
	if len(back.Generated) != 2 || back.Generated[0] != nil || *back.Generated[1] != parse(t, plain).SMILES() {
		t.Errorf("%v", back.Generated)
	}
	text, status := r.refuse("/decode", body{"hiddens": hidden.Hiddens, "mask": [][]bool{{true}, {true}}})
	if status != 422 || !strings.Contains(text, `"mask",0`) {
		t.Errorf("%d %s", status, text)
	}
}

// An encoder with an output of its own for embeddings answers that.
func TestAnEmbeddingOfItsOwn(t *testing.T) {
	models := toyModels(t, 0)
	models[0].Config = tritontest.Config(t, strings.Replace(toyEncoderConfig(), "output [ ", `output [ { name: "embedding" data_type: TYPE_FP32 dims: [ 3 ] }, `, 1))
	models[0].Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		if !slices.Equal(r.Outputs, []string{"embedding"}) {
			return toyEncoder(ctx, r)
		}
		rows := r.Inputs[0].Shape[0]
		return &triton.Response{Outputs: []triton.Tensor{triton.Float32s("embedding", []int64{rows, 3}, slices.Repeat([]float32{1, 2, 3}, int(rows)))}}, nil
	}
	r := start(t, standard, models...)
	vectors := ask[Embeddings](r, "/embedding", body{"sequences": []string{plain, ibuprofen}}).Embeddings
	if !reflect.DeepEqual(vectors, []Row[float32]{{1, 2, 3}, {1, 2, 3}}) {
		t.Errorf("%v", vectors)
	}
	if hidden := ask[Hidden](r, "/hidden", body{"sequences": []string{plain}}); len(hidden.Hiddens[0][0]) != toy.Size {
		t.Errorf("%v", hidden)
	}
}

// Where the first text is no molecule, the beams of the point are tried, then texts of drawn tokens.
func TestDecodingAgain(t *testing.T) {
	for name, models := range map[string][]tritontest.Model{"beams": toyModels(t, 0), "draws": toyModels(t, 0)[:2]} {
		greedy := models[1].Infer
		models[1].Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
			hiddens, temperatures := tensor[float32](r, "hiddens"), tensor[float32](r, "temperature")
			for i, temperature := range temperatures {
				if temperature == 0 && hiddens[i*toy.Size+9] == 7 {
					ids, length := toyIDs(t, []string{toy.Broken})
					return &triton.Response{Outputs: []triton.Tensor{triton.Int64s("token_ids", []int64{1, int64(length)}, ids),
						triton.Float32s("score", []int64{1, 1}, []float32{0})}}, nil
				}
			}
			return greedy(ctx, r)
		}
		r := start(t, standard, models...)
		point := toy.Encode(parse(t, plain).SMILES())
		point[9] = 7
		request := body{"hiddens": [][][]float32{{point}}, "mask": [][]bool{{true}}}
		first := *ask[Decoded](r, "/decode", request).Generated[0]
		if first == toy.Broken || parse(t, first).SMILES() != first {
			t.Errorf("%s: %s", name, first)
		}
		if again := *ask[Decoded](r, "/decode", request).Generated[0]; again != first {
			t.Errorf("%s: %s, then %s", name, first, again)
		}
	}
}
