package triton

import (
	"encoding/binary"
	"unsafe"
)

// Element is a Go type with a datatype of the same form. FP16, BF16 and BYTES have none: see Halves and Strings.
type Element interface {
	bool | uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64 | float32 | float64
}

// isLittleEndian reports whether Go's values have the byte order of the wire.
var isLittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// New returns a tensor of values. It does not copy them on a little-endian machine. Check checks their number.
func New[T Element](name string, shape []int64, values []T) Tensor {
	return Tensor{Name: name, Datatype: datatypeOf[T](), Shape: shape, raw: encode(values)}
}

// Values returns the elements of a tensor of T's datatype, in row-major order. It copies them only for alignment, byte
// order or BOOL.
func Values[T Element](t Tensor) ([]T, error) {
	if err := t.checkType(datatypeOf[T]()); err != nil {
		return nil, err
	}
	return decode[T](t.raw), nil
}

// datatypeOf returns the datatype of T.
func datatypeOf[T Element]() Datatype {
	var zero T
	switch any(zero).(type) {
	case bool:
		return BOOL
	case uint8:
		return UINT8
	case uint16:
		return UINT16
	case uint32:
		return UINT32
	case uint64:
		return UINT64
	case int8:
		return INT8
	case int16:
		return INT16
	case int32:
		return INT32
	case int64:
		return INT64
	case float32:
		return FP32
	}
	return FP64
}

func encode[T Element](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	if !isLittleEndian {
		raw, _ := binary.Append(nil, binary.LittleEndian, values) // T has a fixed size
		return raw
	}
	return bytesOf(values)
}

func decode[T Element](raw []byte) []T {
	size := int(unsafe.Sizeof(*new(T)))
	start := unsafe.Pointer(unsafe.SliceData(raw))
	_, isBool := any(*new(T)).(bool)
	if isLittleEndian && !isBool && len(raw) > 0 && uintptr(start)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(start), len(raw)/size)
	}
	values := make([]T, len(raw)/size)
	if isLittleEndian && !isBool {
		copy(bytesOf(values), raw)
		return values
	}
	_, _ = binary.Decode(raw, binary.LittleEndian, values) // any byte but 0 is true; raw is long enough
	return values
}

// bytesOf returns the memory of values.
func bytesOf[T Element](values []T) []byte {
	size := len(values) * int(unsafe.Sizeof(*new(T)))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), size)
}

// Int64s returns an INT64 tensor.
func Int64s(name string, shape []int64, values []int64) Tensor { return New(name, shape, values) }

// Float32s returns an FP32 tensor.
func Float32s(name string, shape []int64, values []float32) Tensor { return New(name, shape, values) }

// Bools returns a BOOL tensor.
func Bools(name string, shape []int64, values []bool) Tensor { return New(name, shape, values) }
