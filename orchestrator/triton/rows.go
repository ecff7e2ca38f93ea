package triton

import (
	"math"

	"retort/orchestrator/fault"
)

// Rules of the Internal errors for an answer that contradicts the model's entry (fault.Error.Rule).
const (
	RuleFinite = "finite" // NaN or an infinite number
	RuleShape  = "shape"  // another shape than the entry declares
	RuleTokens = "tokens" // a token id that is not allowed at its place
)

func invalidAnswer(rule, format string, args ...any) error {
	f := fault.New(fault.Internal, format, args...)
	f.Rule = rule
	return f
}

// InvalidTokens returns an Internal error with RuleTokens.
func InvalidTokens(format string, args ...any) error {
	return invalidAnswer(RuleTokens, format, args...)
}

// FloatRows returns a floating-point output (FP32, FP16, BF16 or FP64) of shape [rows, width] as one slice per row.
// More dimensions with these products are accepted too. The slices may share the response's memory, and have no spare
// capacity. The error is Internal if the output is missing or has another datatype or shape, since then the model is
// not the one that its configuration describes.
func (r *Response) FloatRows(output string, rows, width int) ([][]float32, error) {
	tensor, err := r.Output(output)
	if err != nil {
		return nil, err
	}
	values, err := tensor.Floats()
	if err != nil {
		return nil, err
	}
	return splitRows(r, tensor, values, rows, width)
}

// FiniteRows is FloatRows for an output that must be finite: NaN and infinities are Internal errors.
func (r *Response) FiniteRows(output string, rows, width int) ([][]float32, error) {
	values, err := r.FloatRows(output, rows, width)
	for i, row := range values {
		for k, value := range row {
			if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
				return nil, invalidAnswer(RuleFinite, "model %s: output %s has %v in row %d, column %d",
					r.Model, output, value, i, k)
			}
		}
	}
	return values, err
}

// Rows is FloatRows for an output of exactly T's datatype. A negative width accepts any, for rows whose length the
// model chooses, such as generated tokens.
func Rows[T Element](r *Response, output string, rows, width int) ([][]T, error) {
	tensor, err := r.Output(output)
	if err != nil {
		return nil, err
	}
	values, err := Values[T](tensor)
	if err != nil {
		return nil, err
	}
	if width < 0 && rows > 0 {
		width = len(values) / rows
	}
	return splitRows(r, tensor, values, rows, width)
}

func splitRows[T any](r *Response, tensor Tensor, values []T, rows, width int) ([][]T, error) {
	if len(values) != rows*width || !hasRows(tensor.Shape, rows) {
		return nil, invalidAnswer(RuleShape, "model %s: output %s of shape %v has %d numbers, not %d rows of %d",
			r.Model, tensor.Name, tensor.Shape, len(values), rows, width)
	}
	split := make([][]T, rows)
	for i := range split {
		split[i] = values[i*width : (i+1)*width : (i+1)*width]
	}
	return split, nil
}

// hasRows reports whether the product of some leading dimensions of a shape is rows. A transposed tensor has the right
// number of elements, but its rows would be mixed up.
func hasRows(shape []int64, rows int) bool {
	product := int64(1)
	for _, dimension := range shape {
		if product == int64(rows) {
			break
		}
		product *= dimension
	}
	return product == int64(rows)
}
