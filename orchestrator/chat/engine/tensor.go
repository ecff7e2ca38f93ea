package engine

import (
	"math"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// firstText returns the first text of a tensor.
func firstText(t triton.Tensor) (string, error) {
	values, err := t.Bytes()
	if err != nil {
		return "", err
	}
	if len(values) == 0 {
		return "", fault.New(fault.Internal, "tensor %s is empty", t.Name)
	}
	return string(values[0]), nil
}

// tokenCount returns the first element of an integer tensor, or 0 if the tensor is empty. Any width and shape are
// accepted: the vLLM backend sends num_input_tokens without dimensions. A datatype or a number that cannot be a count
// is an Internal fault.
func tokenCount(t triton.Tensor) (int, error) {
	switch t.Datatype {
	case triton.INT32:
		return firstCount[int32](t)
	case triton.UINT32:
		return firstCount[uint32](t)
	case triton.INT64:
		return firstCount[int64](t)
	case triton.UINT64:
		return firstCount[uint64](t)
	}
	return 0, fault.New(fault.Internal, "tensor %s is %s, not a count of tokens", t.Name, t.Datatype)
}

func firstCount[T int32 | uint32 | int64 | uint64](t triton.Tensor) (int, error) {
	values, err := triton.Values[T](t)
	if err != nil || len(values) == 0 {
		return 0, err
	}
	if n := values[0]; n < 0 || uint64(n) > math.MaxInt32 {
		return 0, fault.New(fault.Internal, "tensor %s: %d is not a count of tokens", t.Name, n)
	}
	return int(values[0]), nil
}
