package rdkit

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"strconv"
)

// Canvas is the size, in pixels, and the colours of a picture.
type Canvas struct {
	Width       int
	Height      int
	Transparent bool // no background
	Dark        bool // colours for a dark background
}

// Depict draws a molecule as SVG and returns the number of marked atoms. If reference is not empty, the marks show what
// changed from it, otherwise where highlight, which may be nil, matches.
func Depict(smiles, reference string, highlight *Query, canvas Canvas) (svg string, marked int, err error) {
	c := C.retort_canvas{
		width:       C.int32_t(canvas.Width),
		height:      C.int32_t(canvas.Height),
		transparent: flag(canvas.Transparent),
		dark:        flag(canvas.Dark),
	}
	var query *C.retort_query
	if highlight != nil {
		query = highlight.c
	}
	text, size := chars(smiles)
	referenceText, referenceSize := chars(reference)
	answer, err := fields(C.retort_depict(text, size, referenceText, referenceSize, query, &c))
	runtime.KeepAlive(highlight)
	if err != nil {
		return "", 0, err
	}
	if len(answer) != 2 {
		return "", 0, fmt.Errorf("rdkit: a picture of %d texts", len(answer))
	}
	marked, err = strconv.Atoi(answer[1])
	return answer[0], marked, err
}

// PNG draws a molecule on white, width x height pixels.
func PNG(smiles string, width, height int) ([]byte, error) {
	text, size := chars(smiles)
	picture, err := take(C.retort_png(text, size, C.int32_t(width), C.int32_t(height)))
	return []byte(picture), err
}

// MolBlock writes a molecule as a mol block (MDL) with 2D coordinates.
func MolBlock(smiles string) (string, error) {
	text, size := chars(smiles)
	return take(C.retort_molblock(text, size))
}

// ReadMolfile returns the canonical SMILES of a mol block.
func ReadMolfile(block string) (string, error) {
	text, size := chars(block)
	return take(C.retort_read_molfile(text, size))
}
