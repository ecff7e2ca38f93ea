package triton

import (
	"encoding/binary"
	"math"
)

// Halves returns an FP16 or BF16 tensor. It rounds to nearest, ties to even. Values too large for FP16 become infinite.
// It panics for any other datatype.
func Halves(datatype Datatype, name string, shape []int64, values []float32) Tensor {
	round := map[Datatype]func(float32) uint16{FP16: toFP16, BF16: toBF16}[datatype]
	if round == nil {
		panic("triton: Halves of " + string(datatype))
	}
	raw := make([]byte, 2*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint16(raw[2*i:], round(v))
	}
	return Tensor{Name: name, Datatype: datatype, Shape: shape, raw: raw}
}

// Floats returns the elements of an FP16, BF16, FP32 or FP64 tensor as float32. Only FP64 loses precision.
func (t Tensor) Floats() ([]float32, error) {
	if err := t.checkType(FP32, FP16, BF16, FP64); err != nil {
		return nil, err
	}
	if t.Datatype == FP32 {
		return decode[float32](t.raw), nil
	}
	values := make([]float32, t.Elements())
	for i := range values {
		switch t.Datatype {
		case FP16:
			values[i] = fromFP16(binary.LittleEndian.Uint16(t.raw[2*i:]))
		case BF16:
			values[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.raw[2*i:])) << 16)
		case FP64:
			values[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(t.raw[8*i:])))
		}
	}
	return values, nil
}

// toBF16 returns the upper half of a binary32, rounded to even. A NaN becomes a quiet NaN of the same sign, since
// rounding could turn it into an infinity.
func toBF16(v float32) uint16 {
	bits := math.Float32bits(v)
	if v != v {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// toFP16 rounds a binary32 to binary16 (1 sign, 5 exponent, 10 fraction bits). It does not use github.com/x448/float16,
// which returns the same bits for all inputs but takes twice the time: 0.95 ms against 0.44 ms for 65,536 values.
func toFP16(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000: // NaN
		return sign | 0x7e00 | uint16(bits>>13&0x3ff)
	case bits >= 0x477ff000: // 65520 and above round to infinity
		return sign | 0x7c00
	case bits < 0x38800000: // below 2^-14: subnormal, in units of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(bits))*(1<<24)))
	}
	// Change the bias of the exponent from 127 to 15. A fraction that overflows by rounding carries into the exponent,
	// which is correct.
	bits -= (127 - 15) << 23
	return sign | uint16((bits+0xfff+bits>>13&1)>>13)
}

// fromFP16 converts a binary16 exactly.
func fromFP16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h >> 10 & 0x1f)
	fraction := uint32(h & 0x3ff)
	switch exponent {
	case 0:
		subnormal := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(subnormal) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
