package triton

// Datatype is the type of a tensor's elements as it is written on the wire.
type Datatype string

// The datatypes of the protocol. FP16 is IEEE 754 binary16, BF16 the upper half of a binary32, BYTES a string of any
// bytes.
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

// Size returns the bytes of one element: 0 for BYTES, whose elements differ, and -1 for a datatype that does not exist.
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
