package rdkit

// #include "shim.h"
import "C"

import (
	"bytes"
	"compress/zlib"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"
)

// packedSA holds the fragment contributions of the synthetic accessibility score, packed by
// scripts/golden/chem_sa_table.py, which describes the format. Copyright Novartis, BSD-3-Clause: see NOTICE.
//
//go:embed sa_scores.zlib
var packedSA []byte

// Warm loads the reference data and compiles the built-in patterns, which takes some tens of milliseconds. Otherwise
// the first call that needs them does so.
func Warm() error {
	loadSA()
	_, err := take(C.retort_warm())
	return err
}

// loadSA passes the table to C. The table is embedded, so a failure is a programming error.
var loadSA = sync.OnceFunc(func() {
	ids, scoreOf, scores, err := UnpackSA(packedSA)
	if err != nil {
		panic("rdkit: embedded SA table: " + err.Error())
	}
	C.retort_sa_table((*C.uint32_t)(&ids[0]), (*C.uint16_t)(&scoreOf[0]), C.int32_t(len(ids)),
		(*C.double)(&scores[0]), C.int32_t(len(scores)))
	packedSA = nil
})

// UnpackSA reads a packed table: ids in ascending order, for each the index of its score, and the scores. It is
// exported for its test only: a test inside this package would compile the C++ a second time.
func UnpackSA(packed []byte) (ids []uint32, scoreOf []uint16, scores []float64, err error) {
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, nil, nil, err
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(raw) < 8 {
		return nil, nil, nil, io.ErrUnexpectedEOF
	}
	n := int(binary.LittleEndian.Uint32(raw))
	m := int(binary.LittleEndian.Uint32(raw[4:]))
	raw = raw[8:]
	if len(raw) < 8*m+3*n {
		return nil, nil, nil, io.ErrUnexpectedEOF
	}
	scores = make([]float64, m)
	for i := range scores {
		scores[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	raw = raw[8*m:]
	ids = make([]uint32, n)
	scoreOf = make([]uint16, n)
	last := uint32(0)
	for i := range ids {
		step, size := binary.Uvarint(raw)
		if size <= 0 {
			return nil, nil, nil, fmt.Errorf("id %d: bad varint", i)
		}
		last += uint32(step)
		ids[i], raw = last, raw[size:]
	}
	if len(raw) != 2*n {
		return nil, nil, nil, fmt.Errorf("%d bytes of indices for %d ids", len(raw), n)
	}
	for i := range scoreOf {
		scoreOf[i] = uint16(raw[i]) | uint16(raw[n+i])<<8
	}
	return ids, scoreOf, scores, nil
}
