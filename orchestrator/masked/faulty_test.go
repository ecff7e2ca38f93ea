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

// withAnswers returns the toy model with a function that edits its answers: the ids of all rows, and the shape of the tensor.
func withAnswers(t *testing.T, change func(ids, shape []int64) ([]int64, []int64)) tritontest.Model {
	model := toy(t)
	infer := model.Infer
	model.Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		response, err := infer(ctx, r)
		if err != nil {
			return nil, err
		}
		ids, err := response.Outputs[0].Int64s()
		if err != nil {
			return nil, err
		}
		ids, shape := change(ids, response.Outputs[0].Shape)
		return &triton.Response{Outputs: []triton.Tensor{triton.Int64s(outputIDs, shape, ids)}}, nil
	}
	return model
}

// An id outside the model's vocabulary fails the request; only the log names the model. The gateway goes on serving.
func TestAnswersOutsideTheVocabulary(t *testing.T) {
	last := func(id int64) func(ids, shape []int64) ([]int64, []int64) {
		return func(ids, shape []int64) ([]int64, []int64) {
			ids[1] = id // the first mask, behind [BOS]
			return ids, shape
		}
	}
	size := int64(vocabulary(t).Size())
	for name, change := range map[string]func(ids, shape []int64) ([]int64, []int64){
		"at the size of the vocabulary": last(size),
		"far beyond it":                 last(1 << 20),
		"negative":                      last(-1),
		"more than 32 bits":             last(1<<32 + int64(vocabulary(t).EOS) + 1),
		"rows of another length":        func(ids, shape []int64) ([]int64, []int64) { return ids[shape[0]:], []int64{shape[0], shape[1] - 1} },
		"a row less":                    func(ids, shape []int64) ([]int64, []int64) { return ids[shape[1]:], []int64{shape[0] - 1, shape[1]} },
		"rows and columns exchanged":    func(ids, shape []int64) ([]int64, []int64) { return ids, []int64{shape[1], shape[0]} },
	} {
		t.Run(name, func(t *testing.T) {
			server := tritontest.Start(t, withAnswers(t, change))
			h := serve(t, Config{}, server, server.Client(), "testdata")
			if status, text := h.post(`{"smiles":"[*{20-20}]","num_molecules":3,"seed":1}`); status != 500 ||
				text != `{"status":"failed","error":"Internal server error"}` {
				t.Errorf("%d %s", status, text)
			}
			r := Request{Smiles: &Template{Masks: []Mask{{Least: 20, Most: 20}}}}
			r.SetDefaults()
			_, err := h.service.Generate(t.Context(), r)
			if err == nil || fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), "model toy") {
				t.Errorf("%v", err)
			}
		})
	}
}

// panicking is a model that panics when it decodes.
type panicking struct{ Model }

func (panicking) Decode([]int32) (string, error) { panic("no such token") }

func (p panicking) Unmask(_ context.Context, rows []Row) ([][]int32, error) {
	all := make([][]int32, len(rows))
	for i, row := range rows {
		all[i] = row.IDs
	}
	return all, nil
}

// A panic in any goroutine of a request is an error of that request.
func TestAPanicIsAnError(t *testing.T) {
	h := start(t, Config{})
	model, err := h.service.model("")
	if err != nil {
		t.Fatal(err)
	}
	var r Request
	r.SetDefaults()
	scorer, err := h.service.scorer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	g := newGeneration(panicking{model}, r, scorer, nil)
	g.last = t.Context()
	if _, err := g.run(t.Context()); err == nil || fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), "no such token") {
		t.Errorf("decoding: %v", err)
	}
	g = newGeneration(model, r, scorer, func(p Progress) error {
		if p.Generated > 0 {
			panic("no such client")
		}
		return nil
	})
	g.last = t.Context()
	if _, err := g.run(t.Context()); err == nil || fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), "no such client") {
		t.Errorf("a report: %v", err)
	}
	var answer Response
	if status, text := h.post(`{"num_molecules":1,"seed":1}`); status != 200 || json.Unmarshal([]byte(text), &answer) != nil {
		t.Errorf("afterwards: %d %s", status, text)
	}
}
