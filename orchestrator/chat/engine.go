package chat

import (
	"context"
	"iter"
	"slices"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// engine is what the contracts share: a model in Triton, its declared inputs,
// and tensors made to fit them.
type engine struct {
	client *triton.Client
	config *triton.ModelConfig
	// takes are the settings of Sampling that the model knows; nil is all.
	takes []string
}

func (e *engine) has(name string) bool { _, ok := e.config.Input(name); return ok }

// shape puts the batch dimension before n elements where the model has one.
func (e *engine) shape(dims ...int64) []int64 {
	if e.config.MaxBatch > 0 {
		return append([]int64{1}, dims...)
	}
	return dims
}

func (e *engine) text(name string, values ...string) triton.Tensor {
	return triton.Strings(name, e.shape(int64(len(values))), values)
}

func (e *engine) flag(name string, value bool) triton.Tensor {
	return triton.Bools(name, e.shape(1), []bool{value})
}

// number makes a tensor of the datatype that the model declares.
func (e *engine) number(name string, value float64) (triton.Tensor, error) {
	declared, _ := e.config.Input(name)
	shape := e.shape(1)
	switch declared.Datatype {
	case triton.INT32:
		return triton.New(name, shape, []int32{int32(value)}), nil
	case triton.UINT32:
		return triton.New(name, shape, []uint32{uint32(value)}), nil
	case triton.INT64:
		return triton.New(name, shape, []int64{int64(value)}), nil
	case triton.FP32:
		return triton.New(name, shape, []float32{float32(value)}), nil
	case triton.FP64:
		return triton.New(name, shape, []float64{value}), nil
	case triton.BOOL:
		return triton.New(name, shape, []bool{value != 0}), nil
	case triton.UINT64:
		return triton.New(name, shape, []uint64{uint64(int64(value))}), nil
	}
	return triton.Tensor{}, fault.New(fault.Internal, "input %s of model %s is %s, which takes no number", name, e.config.Name, declared.Datatype)
}

// supports refuses settings that the model does not know and that would change
// the answer.
func (e *engine) supports(s *Sampling) error {
	if e.takes == nil {
		return nil
	}
	settings := s.set()
	for _, name := range slices.Sorted(mapKeys(settings)) {
		if !slices.Contains(e.takes, name) && !isNeutral(name, settings[name]) && !assumed[name] {
			return &fault.Error{
				Kind: fault.Invalid, Path: []any{name}, Input: settings[name],
				Message: "`" + name + "` is not supported by this model.",
			}
		}
	}
	return nil
}

// assumed are settings that a model may not know and need not: they only say
// how an answer is drawn, and a model that never draws gives its best one.
var assumed = map[string]bool{"temperature": true, "top_p": true, "top_k": true, "seed": true, "min_p": true}

func mapKeys[V any](m map[string]V) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// stream sends a request and turns each response into a piece.
func (e *engine) stream(ctx context.Context, inputs []triton.Tensor, read func(*triton.Response) (Piece, error)) (iter.Seq2[Piece, error], error) {
	responses, err := e.client.Stream(ctx, &triton.Request{Model: e.config.Name, Inputs: inputs})
	if err != nil {
		return nil, err
	}
	return func(yield func(Piece, error) bool) {
		for r, err := range responses {
			var piece Piece
			if err == nil {
				piece, err = read(r)
			}
			if !yield(piece, err) || err != nil {
				return
			}
		}
	}, nil
}
