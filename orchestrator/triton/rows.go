package triton

import "retort/orchestrator/fault"

// FloatRows returns a floating-point output (FP32, FP16, BF16 or FP64) of shape [rows, width], or of more dimensions
// whose product is that, as one slice of width numbers a row. The slices share the response's memory; each has no room
// to grow into the next. An output that is missing, of another datatype or of another size is Internal: the model is
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
	return split(r, output, values, rows, width)
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
	return split(r, output, values, rows, width)
}

func split[T any](r *Response, output string, values []T, rows, width int) ([][]T, error) {
	if len(values) != rows*width {
		return nil, fault.New(fault.Internal, "model %s: output %s has %d numbers, not %d rows of %d", r.Model, output, len(values), rows, width)
	}
	out := make([][]T, rows)
	for i := range out {
		out[i] = values[i*width : (i+1)*width : (i+1)*width]
	}
	return out, nil
}
