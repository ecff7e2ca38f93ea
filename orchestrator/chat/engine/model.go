package engine

import (
	"context"
	"iter"
	"maps"
	"slices"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// Tensors that all contracts have; models may lack the finish reason.
const (
	inputText    = "text_input"
	outputText   = "text_output"
	outputFinish = "finish_reason"
)

// model is the part of an engine that all contracts share: a model of Triton and its declared inputs.
type model struct {
	client    *triton.Client
	config    *triton.ModelConfig
	supported []string // names of settings
}

// Check refuses settings that the model neither supports nor may ignore.
func (m *model) Check(s *Sampling) error {
	settings := s.settings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if m.Supports(name) || isIgnorable(name, settings[name]) {
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

// Supports reports whether the model supports a setting.
func (m *model) Supports(setting string) bool { return slices.Contains(m.supported, setting) }

// has reports whether the model declares an input.
func (m *model) has(input string) bool { _, ok := m.config.Input(input); return ok }

// shape returns dims, after a batch dimension of 1 if the model has one.
func (m *model) shape(dims ...int64) []int64 {
	if m.config.MaxBatch > 0 {
		return append([]int64{1}, dims...)
	}
	return dims
}

func (m *model) stringTensor(input string, values ...string) triton.Tensor {
	return triton.Strings(input, m.shape(int64(len(values))), values)
}

func (m *model) boolTensor(input string, value bool) triton.Tensor {
	return triton.Bools(input, m.shape(1), []bool{value})
}

// numberTensor returns a tensor of one int, int64, float64 or bool in the datatype that the model declares. Integers
// stay exact; if the datatype is too narrow (for a seed), the lowest bits are sent.
func (m *model) numberTensor(input string, value any) (triton.Tensor, error) {
	declared, _ := m.config.Input(input)
	whole, float := numbersOf(value)
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

// numbersOf returns value as an integer and as a floating-point number.
func numbersOf(value any) (whole int64, float float64) {
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

// stream sends a request and reads each response as a piece. adapt changes the piece as the contract requires.
func (m *model) stream(
	ctx context.Context, inputs []triton.Tensor, adapt func(*Piece, *triton.Response) error,
) (iter.Seq2[Piece, error], error) {
	responses, err := m.client.Stream(ctx, &triton.Request{Model: m.config.Name, Inputs: inputs})
	if err != nil {
		return nil, err
	}
	return func(yield func(Piece, error) bool) {
		for r, err := range responses {
			var piece Piece
			if err == nil {
				piece, err = readPiece(r)
			}
			if err == nil {
				err = adapt(&piece, r)
			}
			if !yield(piece, err) || err != nil {
				return
			}
		}
	}, nil
}

// readPiece reads the text and the finish reason of a response.
func readPiece(r *triton.Response) (piece Piece, err error) {
	text, err := r.Output(outputText)
	if err != nil {
		return piece, err
	}
	if piece.Text, err = firstText(text); err != nil {
		return piece, err
	}
	finish, err := r.Output(outputFinish)
	if err != nil { // the model gives none
		return piece, nil
	}
	reason, err := firstText(finish)
	if err != nil {
		return piece, err
	}
	switch reason {
	case "", "None", "not_finished", "NOT_FINISHED":
	case "length", "LENGTH":
		piece.Finish = "length"
	case "abort":
		return piece, fault.New(fault.Unavailable, "the engine aborted the request")
	default:
		piece.Finish = "stop"
	}
	return piece, nil
}
