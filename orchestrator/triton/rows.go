package triton

import (
	"math"

	"retort/orchestrator/fault"
)

// FloatRows returns a floating-point output (FP32, FP16, BF16 or FP64) of shape [rows, width], or of more dimensions
// whose product is that, as one slice of width numbers a row. The slices share the response's memory; each has no room
// to grow into the next. An output that is missing, of another datatype or of another shape is Internal: the model is
// not the one that its configuration described.
func (r *Response) FloatRows(output string, rows, width int) ([][]float32, error) {
	tensor, err := r.Output(output)
	if err != nil {
		return nil, err
	}
	values, err := tensor.Floats()
	if err != nil {
		return nil, err
	}
	return split(r, tensor, values, rows, width)
}

// FiniteRows is FloatRows for an output whose numbers must be finite: NaN and infinities are Internal.
func (r *Response) FiniteRows(output string, rows, width int) ([][]float32, error) {
	found, err := r.FloatRows(output, rows, width)
	for i, row := range found {
		for k, value := range row {
			if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
				return nil, fault.New(fault.Internal, "model %s: output %s has %v in row %d, place %d", r.Model, output, value, i, k)
			}
		}
	}
	return found, err
}

// Rows is FloatRows for an output of T's datatype exactly. A negative width is that of the tensor itself, whatever it
// is: rows of a length that the model chooses, such as generated tokens.
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
	return split(r, tensor, values, rows, width)
}

func split[T any](r *Response, tensor Tensor, values []T, rows, width int) ([][]T, error) {
	if len(values) != rows*width || !hasRows(tensor.Shape, rows) {
		return nil, fault.New(fault.Internal, "model %s: output %s of shape %v has %d numbers, not %d rows of %d",
			r.Model, tensor.Name, tensor.Shape, len(values), rows, width)
	}
	out := make([][]T, rows)
	for i := range out {
		out[i] = values[i*width : (i+1)*width : (i+1)*width]
	}
	return out, nil
}

// hasRows reports whether the product of some leading dimensions of a shape is rows. A transposed tensor has the right
// number of elements, but its rows would be mixed up.
func hasRows(shape []int64, rows int) bool {
	count := int64(1)
	for _, dimension := range shape {
		if count == int64(rows) {
			break
		}
		count *= dimension
	}
	return count == int64(rows)
}
