package engine

import (
	"context"
	"iter"
	"maps"
	"slices"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// model is what the contracts share: a model of Triton, the settings that it knows, and tensors that fit its declared
// inputs.
type model struct {
	client *triton.Client
	config *triton.ModelConfig
	// known are the names of the settings that the model knows.
	known []string
}

// Check refuses settings that the model does not know.
func (m *model) Check(s *Sampling) error {
	settings := s.settings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if slices.Contains(m.known, name) || isNeutral(name, settings[name]) || harmless[name] {
			continue
		}
		if guide, ok := settings[name].(*Guide); ok {
			return guideUnsupported(guide)
		}
		return &fault.Error{
			Kind: fault.Invalid, Path: []any{name}, Input: settings[name],
			Message: "`" + name + "` is not supported by this model.",
		}
	}
	return nil
}

// Knows reports whether the model knows a setting.
func (m *model) Supports(setting string) bool { return slices.Contains(m.known, setting) }

// has reports whether the model declares an input.
func (m *model) has(input string) bool { _, ok := m.config.Input(input); return ok }

// shape puts the batch dimension before the others where the model has one.
func (m *model) shape(dims ...int64) []int64 {
	if m.config.MaxBatch > 0 {
		return append([]int64{1}, dims...)
	}
	return dims
}

func (m *model) texts(input string, values ...string) triton.Tensor {
	return triton.Strings(input, m.shape(int64(len(values))), values)
}

func (m *model) flag(input string, value bool) triton.Tensor {
	return triton.Bools(input, m.shape(1), []bool{value})
}

// number makes a tensor of one int, int64, float64 or bool, in the datatype that the model declares. Whole numbers stay
// exact; where the datatype is too narrow for one (a seed), its lowest bits are sent.
func (m *model) number(input string, value any) (triton.Tensor, error) {
	declared, _ := m.config.Input(input)
	whole, float := parts(value)
	shape := m.shape(1)
	switch declared.Datatype {
	case triton.INT32:
		return triton.New(input, shape, []int32{int32(whole)}), nil
	case triton.UINT32:
		return triton.New(input, shape, []uint32{uint32(whole)}), nil
	case triton.INT64:
		return triton.New(input, shape, []int64{whole}), nil
	case triton.UINT64:
		return triton.New(input, shape, []uint64{uint64(whole)}), nil
	case triton.FP32:
		return triton.New(input, shape, []float32{float32(float)}), nil
	case triton.FP64:
		return triton.New(input, shape, []float64{float}), nil
	case triton.BOOL:
		return triton.New(input, shape, []bool{whole != 0}), nil
	}
	return triton.Tensor{}, fault.New(fault.Internal, "input %s of model %s is %s, which takes no number",
		input, m.config.Name, declared.Datatype)
}

// parts is a number as a whole one and as a floating-point one.
func parts(value any) (whole int64, float float64) {
	switch v := value.(type) {
	case int:
		return int64(v), float64(v)
	case int64:
		return v, float64(v)
	case float64:
		return int64(v), v
	case bool:
		if v {
			return 1, 1
		}
	}
	return 0, 0
}

// stream sends a request and turns each response into a piece.
func (m *model) stream(ctx context.Context, inputs []triton.Tensor, read func(*triton.Response) (Piece, error)) (iter.Seq2[Piece, error], error) {
	responses, err := m.client.Stream(ctx, &triton.Request{Model: m.config.Name, Inputs: inputs})
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
