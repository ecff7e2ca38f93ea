package embedding

import (
	"encoding/base64"
	"encoding/binary"
	"math"
)

// rangeDeviations is the bound of int8 and uint8 numbers, in standard deviations of the numbers of a vector of length
// 1. Numbers beyond it become the bound.
const rangeDeviations = 6

// represent returns a vector in the type and the encoding of a request:
//
//   - float: the numbers, in base64 as float32.
//   - uint8: the numbers from -r to r in 256 steps, where r = 6/√n for n numbers. int8: uint8 less 128. The formula is
//     that of sentence-transformers' quantize_embeddings (6.2.0) with these ranges for each dimension. Since all
//     vectors have the same scale, those of int8 can be compared by dot product, too.
//   - ubinary: one bit for each number, 1 if it is positive, eight in a byte, the first in its highest bit, as numpy's
//     packbits and quantize_embeddings. The last byte is filled with zeros.
//   - binary: the bytes of ubinary less 128.
func represent(v []float32, r Request) any {
	switch r.EmbeddingType {
	case "int8":
		return encodeBytes(lowered(scaled(v)), r, true)
	case "uint8":
		return encodeBytes(scaled(v), r, false)
	case "binary":
		return encodeBytes(lowered(packBits(v)), r, true)
	case "ubinary":
		return encodeBytes(packBits(v), r, false)
	}
	if r.EncodingFormat == "base64" {
		return encodeFloats(v)
	}
	return v
}

// scaled returns the step of each number, rounded down.
func scaled(v []float32) []byte {
	bound := rangeDeviations / math.Sqrt(float64(len(v)))
	out := make([]byte, len(v))
	for i, x := range v {
		out[i] = byte(255 * (min(max(float64(x), -bound), bound) + bound) / (2 * bound))
	}
	return out
}

// lowered subtracts 128 from each byte, which then is a signed one.
func lowered(raw []byte) []byte {
	for i := range raw {
		raw[i] -= 128
	}
	return raw
}

func packBits(v []float32) []byte {
	out := make([]byte, (len(v)+7)/8)
	for i, x := range v {
		if x > 0 {
			out[i/8] |= 1 << (7 - i%8)
		}
	}
	return out
}

// encodeBytes returns bytes in base64 or as numbers, which are signed or not.
func encodeBytes(raw []byte, r Request, signed bool) any {
	if r.EncodingFormat == "base64" {
		return base64.StdEncoding.EncodeToString(raw)
	}
	numbers := make([]int16, len(raw)) // not bytes, which JSON encodes as base64
	for i, b := range raw {
		numbers[i] = int16(b)
		if signed {
			numbers[i] = int16(int8(b))
		}
	}
	return numbers
}

// encodeFloats returns base64 of v as little-endian float32 bytes.
func encodeFloats(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
