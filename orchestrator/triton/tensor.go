package triton

import (
	"math"

	"retort/orchestrator/fault"
)

// Tensor is a named array in wire form: row-major, little-endian. The zero Tensor is not valid.
//
// A Tensor may share memory with the slice that it was made from and with the slices that its methods return. Do not
// modify either while the other is in use, nor an input before the call has returned.
type Tensor struct {
	Name     string
	Datatype Datatype
	// Shape is the size of each dimension, outermost first. An empty Shape means one element.
	Shape []int64

	raw []byte
}

// Raw returns a tensor of elements in wire form.
func Raw(name string, datatype Datatype, shape []int64, raw []byte) Tensor {
	return Tensor{Name: name, Datatype: datatype, Shape: shape, raw: raw}
}

// Raw returns the elements in wire form.
func (t Tensor) Raw() []byte { return t.raw }

// Elements returns the product of the shape, or -1 if a dimension is negative or the product overflows.
func (t Tensor) Elements() int {
	n := int64(1)
	for _, dim := range t.Shape {
		if dim < 0 || (dim > 0 && n > math.MaxInt64/dim) {
			return -1
		}
		n *= dim
	}
	return int(n)
}

// Check returns an Internal error if shape, datatype and bytes do not agree.
func (t Tensor) Check() error {
	size := t.Datatype.Size()
	n := t.Elements()
	switch {
	case t.Name == "":
		return fault.New(fault.Internal, "a tensor of type %s has no name", t.Datatype)
	case size < 0:
		return fault.New(fault.Internal, "tensor %s: unknown datatype %q", t.Name, t.Datatype)
	case n < 0:
		return fault.New(fault.Internal, "tensor %s: impossible shape %v", t.Name, t.Shape)
	case t.Datatype == BYTES:
		_, err := t.Bytes()
		return err
	case len(t.raw)%size != 0 || len(t.raw)/size != n:
		return fault.New(fault.Internal, "tensor %s: shape %v of %s has %d elements of %d bytes, got %d bytes",
			t.Name, t.Shape, t.Datatype, n, size, len(t.raw))
	}
	return nil
}

// checkType checks the tensor, and that its datatype is one of wanted.
func (t Tensor) checkType(wanted ...Datatype) error {
	for _, d := range wanted {
		if t.Datatype == d {
			return t.Check()
		}
	}
	return fault.New(fault.Internal, "tensor %s is %s, not %v", t.Name, t.Datatype, wanted)
}

// Datatype is the type of a tensor's elements, as written on the wire.
type Datatype string

// The datatypes of the protocol. FP16 is IEEE 754 binary16, BF16 the upper half of a binary32, and BYTES a string of
// arbitrary bytes.
const (
	BOOL   Datatype = "BOOL"
	UINT8  Datatype = "UINT8"
	UINT16 Datatype = "UINT16"
	UINT32 Datatype = "UINT32"
	UINT64 Datatype = "UINT64"
	INT8   Datatype = "INT8"
	INT16  Datatype = "INT16"
	INT32  Datatype = "INT32"
	INT64  Datatype = "INT64"
	FP16   Datatype = "FP16"
	BF16   Datatype = "BF16"
	FP32   Datatype = "FP32"
	FP64   Datatype = "FP64"
	BYTES  Datatype = "BYTES"
)

// Size returns the bytes of one element: 0 for BYTES, whose elements vary, and -1 for an unknown datatype.
func (d Datatype) Size() int {
	switch d {
	case BOOL, UINT8, INT8:
		return 1
	case UINT16, INT16, FP16, BF16:
		return 2
	case UINT32, INT32, FP32:
		return 4
	case UINT64, INT64, FP64:
		return 8
	case BYTES:
		return 0
	}
	return -1
}
