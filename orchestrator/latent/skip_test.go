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

// With skip_invalid, unreadable rows are null. Without it the request is refused, and the error names all of them.
func TestSkipInvalid(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	rows := []string{"not a molecule", plain, "C[Si]C", ibuprofen}
	for _, path := range []string{"/embedding", "/hidden", "/sampling", "/generate"} {
		field := "sequences"
		if path == "/generate" {
			field = "smi"
		}
		request := body{field: rows}
		if path == "/generate" {
			request["iterations"] = 1
		}
		text, status := r.refuse(path, request)
		names := func(row string) bool { return strings.Contains(text, `"`+field+`",`+row) }
		if status != 422 || !names("0") || names("1") || !names("2") {
			t.Errorf("%s: %d %s", path, status, text)
		}
		request["skip_invalid"] = true
		for _, list := range ask[map[string][]any](r, path, request) {
			if len(list) != 4 || list[0] != nil || list[2] != nil || list[1] == nil || list[3] == nil {
				t.Errorf("%s: %v", path, list)
			}
		}
		request[field] = rows[:1]
		for _, list := range ask[map[string][]any](r, path, request) {
			if !reflect.DeepEqual(list, []any{nil}) {
				t.Errorf("%s of unreadable rows only: %v", path, list)
			}
		}
	}
}

// Every endpoint refuses a model that is not served, and /hidden names the model for /decode.
func TestModelOfARequest(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	hidden := ask[Hidden](r, "/hidden", body{"sequences": []string{plain}})
	for path, request := range map[string]body{
		"/embedding": {"sequences": []string{plain}},
		"/hidden":    {"sequences": []string{plain}},
		"/decode":    {"hiddens": hidden.Hiddens, "mask": hidden.Mask},
		"/sampling":  {"sequences": []string{plain}},
		"/generate":  {"smi": plain, "iterations": 1},
	} {
		request["model"] = "retort/none-v1"
		text, status := r.refuse(path, request)
		if status != 422 || !strings.Contains(text, `"loc":["body","model"]`) || !strings.Contains(text, "the models are") {
			t.Errorf("%s: %d %s", path, status, text)
		}
		request["model"] = "retort/toy"
		answer := ask[map[string]any](r, path, request)
		if path == "/hidden" && answer["model"] != "retort/toy" {
			t.Errorf("/hidden: %v", answer["model"])
		}
	}
}

// The answer of /hidden is a body of /decode, with its null rows.
func TestDecodeKeepsNullRows(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	hidden := ask[Hidden](r, "/hidden", body{"sequences": []string{"C1CC", plain}, "skip_invalid": true})
	decoded := ask[Decoded](r, "/decode", body{"hiddens": hidden.Hiddens, "mask": hidden.Mask})
	smiles := decoded.Generated
	if len(smiles) != 2 || smiles[0] != nil || *smiles[1] != parse(t, plain).SMILES() {
		t.Errorf("%v", smiles)
	}
	text, status := r.refuse("/decode", body{"hiddens": hidden.Hiddens, "mask": [][]bool{{true}, {true}}})
	if status != 422 || !strings.Contains(text, `"mask",0`) {
		t.Errorf("%d %s", status, text)
	}
}

// The vectors of /embedding are the encoder's output embedding, if it has one.
func TestTheOutputEmbedding(t *testing.T) {
	models := toyModels(t, 0)
	models[0].Config = tritontest.Config(t, strings.Replace(toyEncoderConfig(),
		"output [ ", `output [ { name: "embedding" data_type: TYPE_FP32 dims: [ 3 ] }, `, 1))
	models[0].Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		if !slices.Equal(r.Outputs, []string{"embedding"}) {
			return toyEncoder(ctx, r)
		}
		rows := r.Inputs[0].Shape[0]
		vectors := slices.Repeat([]float32{1, 2, 3}, int(rows))
		return respond(triton.Float32s("embedding", []int64{rows, 3}, vectors)), nil
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

// If the first text is not a molecule, the beams of the point are tried, then texts of drawn tokens.
func TestDecodeRescuesInvalidTexts(t *testing.T) {
	for name, models := range map[string][]tritontest.Model{"beams": toyModels(t, 0), "draws": toyModels(t, 0)[:2]} {
		greedy := models[1].Infer
		models[1].Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
			hiddens := tensor[float32](r, "hiddens")
			temperatures := tensor[float32](r, "temperature")
			for i, temperature := range temperatures {
				if temperature == 0 && hiddens[i*toy.Size+9] == 7 {
					ids, length := toyIDs(t, []string{toy.Broken})
					return respond(
						triton.Int64s("token_ids", []int64{1, int64(length)}, ids),
						triton.Float32s("score", []int64{1, 1}, []float32{0}),
					), nil
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
