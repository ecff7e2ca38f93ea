package triton

import (
	"math"

	"retort/orchestrator/fault"
)

// Tensor is a named array as it travels: elements in row-major order, little-endian. The zero Tensor is not valid.
//
// A Tensor may share memory with the slice it was made from or with the slice an accessor returned, so neither may be
// changed while the other is in use; for an input that is until the call has returned.
type Tensor struct {
	Name     string
	Datatype Datatype
	// Shape holds the size of every dimension, outermost first; empty means one element without dimensions.
	Shape []int64

	raw []byte
}

// Raw returns a tensor of bytes that are already in wire form.
func Raw(name string, datatype Datatype, shape []int64, raw []byte) Tensor {
	return Tensor{Name: name, Datatype: datatype, Shape: shape, raw: raw}
}

// Raw returns the elements in wire form.
func (t Tensor) Raw() []byte { return t.raw }

// Elements returns the product of the shape, and -1 when a dimension is negative or the product does not fit.
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

// Check reports whether shape, datatype and bytes agree. Disagreement is Internal: either we made the tensor wrong or a
// server did.
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
		return fault.New(fault.Internal, "tensor %s: shape %v of %s is %d elements of %d bytes, but there are %d bytes",
			t.Name, t.Shape, t.Datatype, n, size, len(t.raw))
	}
	return nil
}

// is checks the tensor and that its datatype is one of those wanted.
func (t Tensor) is(wanted ...Datatype) error {
	for _, d := range wanted {
		if t.Datatype == d {
			return t.Check()
		}
	}
	return fault.New(fault.Internal, "tensor %s is %s, not %v", t.Name, t.Datatype, wanted)
}
