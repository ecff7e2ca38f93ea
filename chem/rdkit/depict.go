package rdkit

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"strconv"
)

// Depict draws one molecule as SVG and tells how many atoms are marked: what changed from the reference, which may be
// empty, or else where highlight, which may be nil, is found.
func Depict(smiles, reference string, highlight *Query, dark bool, s Sheet) (svg string, marked int, err error) {
	sheet := C.retort_sheet{width: C.int32_t(s.Width), height: C.int32_t(s.Height), columns: 1}
	if s.Transparent {
		sheet.transparent = 1
	}
	var darkness C.int32_t
	if dark {
		darkness = 1
	}
	var query *C.retort_query
	if highlight != nil {
		query = highlight.c
	}
	text, size := chars(smiles)
	from, fromSize := chars(reference)
	answer, err := fields(C.retort_depict(text, size, from, fromSize, query, darkness, &sheet))
	for _, kept := range []any{smiles, reference, highlight} {
		runtime.KeepAlive(kept)
	}
	if err != nil {
		return "", 0, err
	}
	if len(answer) != 2 {
		return "", 0, fmt.Errorf("rdkit: a picture of %d texts", len(answer))
	}
	marked, err = strconv.Atoi(answer[1])
	return answer[0], marked, err
}

// MolBlock is a molecule in MDL's format, with 2D coordinates.
func MolBlock(smiles string) (string, error) {
	text, size := chars(smiles)
	defer runtime.KeepAlive(smiles)
	return take(C.retort_molblock(text, size))
}
