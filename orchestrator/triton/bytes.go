package triton

import (
	"encoding/binary"

	"retort/orchestrator/fault"
)

// Strings returns a BYTES tensor. On the wire, each element is its length in four bytes, followed by its bytes.
func Strings(name string, shape []int64, values []string) Tensor {
	return Tensor{Name: name, Datatype: BYTES, Shape: shape, raw: encodeStrings(values)}
}

func encodeStrings[S string | []byte](values []S) []byte {
	size := 0
	for _, v := range values {
		size += 4 + len(v)
	}
	raw := make([]byte, 0, size)
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(len(v)))
		raw = append(raw, v...)
	}
	return raw
}

// Bytes returns the elements of a BYTES tensor. They share its memory.
func (t Tensor) Bytes() ([][]byte, error) {
	n := t.Elements()
	if t.Datatype != BYTES {
		return nil, fault.New(fault.Internal, "tensor %s is %s, not %s", t.Name, t.Datatype, BYTES)
	}
	if n < 0 || n > len(t.raw)/4 {
		return nil, fault.New(fault.Internal, "tensor %s: shape %v does not fit %d bytes", t.Name, t.Shape, len(t.raw))
	}
	values := make([][]byte, n)
	remaining := t.raw
	for i := range values {
		if len(remaining) < 4 || uint64(len(remaining)-4) < uint64(binary.LittleEndian.Uint32(remaining)) {
			return nil, fault.New(fault.Internal, "tensor %s: element %d of %d is truncated", t.Name, i, n)
		}
		end := 4 + int(binary.LittleEndian.Uint32(remaining))
		values[i] = remaining[4:end:end]
		remaining = remaining[end:]
	}
	if len(remaining) > 0 {
		return nil, fault.New(fault.Internal, "tensor %s: %d bytes after the last element of shape %v",
			t.Name, len(remaining), t.Shape)
	}
	return values, nil
}
