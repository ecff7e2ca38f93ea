package engine

import (
	"encoding/binary"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// oneText returns the text of a tensor that holds one.
func oneText(t triton.Tensor) (string, error) {
	values, err := t.Bytes()
	if err != nil {
		return "", err
	}
	if len(values) == 0 {
		return "", fault.New(fault.Internal, "tensor %s is empty", t.Name)
	}
	return string(values[0]), nil
}

// oneWhole returns the first whole number of a tensor, whatever its width and shape: the vLLM backend sends
// num_input_tokens without dimensions. It is 0 where there is none.
func oneWhole(t triton.Tensor) int {
	raw := t.Raw()
	switch {
	case t.Datatype.Size() == 8 && len(raw) >= 8:
		return int(binary.LittleEndian.Uint64(raw))
	case t.Datatype.Size() == 4 && len(raw) >= 4:
		return int(binary.LittleEndian.Uint32(raw))
	}
	return 0
}
