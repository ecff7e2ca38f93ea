package masked

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// withAnswers returns the toy model with a function that changes the ids and the shape of its output tensor.
func withAnswers(t *testing.T, change func(ids, shape []int64) ([]int64, []int64)) tritontest.Model {
	model := toy(t)
	infer := model.Infer
	model.Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		response, err := infer(ctx, r)
		if err != nil {
			return nil, err
		}
		ids, err := triton.Values[int64](response.Outputs[0])
		if err != nil {
			return nil, err
		}
		ids, shape := change(ids, response.Outputs[0].Shape)
		return &triton.Response{Outputs: []triton.Tensor{triton.Int64s(outputIDs, shape, ids)}}, nil
	}
	return model
}

// An invalid answer of the model fails the request. Only the internal error names the model.
func TestInvalidAnswersOfTheModel(t *testing.T) {
	setMask := func(id int64) func(ids, shape []int64) ([]int64, []int64) {
		return func(ids, shape []int64) ([]int64, []int64) {
			ids[1] = id // the first mask, after [BOS]
			return ids, shape
		}
	}
	size := int64(vocabulary(t).Size())
	for name, change := range map[string]func(ids, shape []int64) ([]int64, []int64){
		"id equal to vocabulary size": setMask(size),
		"id far above":                setMask(1 << 20),
		"negative id":                 setMask(-1),
		"id of more than 32 bits":     setMask(1<<32 + int64(vocabulary(t).EOS) + 1),
		"short rows": func(ids, shape []int64) ([]int64, []int64) {
			return ids[shape[0]:], []int64{shape[0], shape[1] - 1}
		},
		"missing row": func(ids, shape []int64) ([]int64, []int64) {
			return ids[shape[1]:], []int64{shape[0] - 1, shape[1]}
		},
		"transposed": func(ids, shape []int64) ([]int64, []int64) {
			return ids, []int64{shape[1], shape[0]}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := tritontest.Start(t, withAnswers(t, change))
			h := serve(t, Config{}, server, server.Client(), "testdata")
			status, text := h.post(`{"smiles":"[*{20-20}]","num_molecules":3,"seed":1}`)
			if status != 500 || text != `{"status":"failed","error":"Internal server error"}` {
				t.Errorf("%d %s", status, text)
			}
			r := Request{Smiles: &Template{masks: []maskRange{{least: 20, most: 20}}}}
			r.SetDefaults()
			_, err := h.service.Generate(t.Context(), r)
			if !isInternal(err, "model toy") {
				t.Errorf("%v", err)
			}
		})
	}
}

func isInternal(err error, text string) bool {
	return err != nil && fault.KindOf(err) == fault.Internal && strings.Contains(err.Error(), text)
}

// panicking is a model that panics in Decode.
type panicking struct{ Model }

func (panicking) Decode([]int32) (string, error) { panic("no such token") }

func (p panicking) Unmask(_ context.Context, rows []Row) ([][]int32, error) {
	all := make([][]int32, len(rows))
	for i, row := range rows {
		all[i] = row.IDs
	}
	return all, nil
}

// A panic in a goroutine of a request fails that request only.
func TestPanicIsContained(t *testing.T) {
	h := start(t, Config{})
	model, err := h.service.model("")
	if err != nil {
		t.Fatal(err)
	}
	var r Request
	r.SetDefaults()
	scorer, err := h.service.scorer(t.Context(), r, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := newGeneration(panicking{model}, r, scorer, nil)
	g.finalContext = t.Context()
	if _, err := g.run(t.Context()); !isInternal(err, "no such token") {
		t.Errorf("panic in Decode: %v", err)
	}
	g = newGeneration(model, r, scorer, func(p Progress) error {
		if p.Generated > 0 {
			panic("no such client")
		}
		return nil
	})
	g.finalContext = t.Context()
	if _, err := g.run(t.Context()); !isInternal(err, "no such client") {
		t.Errorf("panic in report: %v", err)
	}
	var answer Response
	status, text := h.post(`{"num_molecules":1,"seed":1}`)
	if err := json.Unmarshal([]byte(text), &answer); status != 200 || err != nil {
		t.Errorf("the next request: %d %s", status, text)
	}
}
