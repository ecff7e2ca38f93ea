// Package rdkit is the only package that calls C++: RDKit through a small C interface (shim.h).
//
// A call builds its molecules, uses them and frees them. Goroutines share nothing that RDKit changes, so any number of
// them may call at the same time. A call cannot be interrupted; package chem bounds the input and checks the context
// between calls.
//
// RDKit allocates and frees many small objects, which with glibc's malloc is a third of the gateway's time in
// chemistry. The statically linked tcmalloc reduces that time by a fifth.
//
// Building needs g++, librdkit-dev 202209.3, libboost-dev and libgoogle-perftools-dev (Debian 12), running librdkit1.
//
// Terms:
//   - dummy: an atom "*" without an element, often with a label, [n*]
//   - open position: a terminal dummy, where something may be bonded
//   - key: a text that is equal for equal molecules, whatever the labels of their dummies
package rdkit

/*
#cgo amd64 CXXFLAGS: -march=x86-64-v2
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -isystem /usr/include/rdkit -I${SRCDIR}/cairo
#cgo LDFLAGS: -lRDKitMolDraw2D -lRDKitDescriptors -lRDKitFingerprints -lRDKitChemTransforms
#cgo LDFLAGS: -lRDKitFilterCatalog -lRDKitCatalogs -lRDKitChemReactions
#cgo LDFLAGS: -lRDKitDepictor -lRDKitFileParsers -lRDKitSubstructMatch -lRDKitSmilesParse -lRDKitGraphMol
#cgo LDFLAGS: -lRDKitRDGeometryLib -lRDKitDataStructs -lRDKitRDGeneral -l:libcairo.so.2 -l:libtcmalloc_minimal.a
#include "shim.h"
*/
import "C"

import (
	"strings"
	"unsafe"
)

// Status is the reason of a [Failure].
type Status int

// The statuses that callers distinguish, see shim.h.
const (
	Syntax   Status = C.RETORT_SYNTAX
	Valence  Status = C.RETORT_VALENCE
	Kekulize Status = C.RETORT_KEKULIZE
	Empty    Status = C.RETORT_EMPTY
	Refused  Status = C.RETORT_REFUSED
	Budget   Status = C.RETORT_BUDGET
)

// Failure is an error of RDKit.
type Failure struct {
	Status  Status
	Atom    int    // index of the atom concerned, in the order written, or -1
	Message string // RDKit's wording
}

func (f *Failure) Error() string { return f.Message }

// Version returns the version of RDKit.
func Version() string { return C.GoString(C.retort_rdkit_version()) }

// chars returns the bytes of a string for one call of C, during which cgo keeps them alive.
func chars(s string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

// join concatenates texts for one call of C, and returns the offset where each one ends.
func join(texts []string) (text *C.char, textEnds *C.uint32_t) {
	ends := make([]uint32, len(texts))
	size := 0
	for i, t := range texts {
		size += len(t)
		ends[i] = uint32(size)
	}
	text, _ = chars(strings.Join(texts, ""))
	return text, (*C.uint32_t)(unsafe.SliceData(ends))
}

// take copies the text of an answer into Go and frees the answer.
func take(a C.retort_answer) (string, error) {
	text := ""
	if a.data != nil {
		text = C.GoStringN(a.data, C.int(a.size))
		C.retort_free(unsafe.Pointer(a.data))
	}
	if a.status != C.RETORT_OK {
		return "", &Failure{Status: Status(a.status), Atom: int(a.atom), Message: text}
	}
	return text, nil
}

// fields splits an answer into its texts.
func fields(a C.retort_answer) ([]string, error) {
	text, err := take(a)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"), nil
}

// flag converts a condition to C.
func flag(set bool) C.int32_t {
	if set {
		return 1
	}
	return 0
}
