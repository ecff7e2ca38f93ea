// Package rdkit is the only place where C++ is called: RDKit behind one thin C face (shim.h).
//
// Each call builds its molecules, uses them and frees them, so nothing that RDKit changes is
// shared by goroutines, and any number of goroutines may call at once. A call cannot be
// interrupted; package chem bounds what it passes on and looks at the context between calls.
//
// RDKit allocates and frees many small objects: with glibc's malloc that is a third of a gateway's
// time in chemistry. So tcmalloc is linked in (statically), which makes that time a fifth shorter.
//
// Building needs g++, librdkit-dev 202209.3, libboost-dev and libgoogle-perftools-dev (Debian 12);
// running needs librdkit1.
package rdkit

/*
#cgo amd64 CXXFLAGS: -march=x86-64-v2
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -isystem /usr/include/rdkit -I${SRCDIR}/cairo
#cgo LDFLAGS: -lRDKitMolDraw2D -lRDKitDescriptors -lRDKitFingerprints -lRDKitChemTransforms
#cgo LDFLAGS: -lRDKitDepictor -lRDKitFileParsers -lRDKitSubstructMatch -lRDKitSmilesParse -lRDKitGraphMol
#cgo LDFLAGS: -lRDKitRDGeometryLib -lRDKitDataStructs -lRDKitRDGeneral -l:libcairo.so.2 -l:libtcmalloc_minimal.a
#include "shim.h"
*/
import "C"

import (
	"strings"
	"unsafe"
)

// Status tells what became of one molecule.
type Status int

// The statuses of shim.h.
const (
	OK       Status = C.RETORT_OK
	Syntax   Status = C.RETORT_SYNTAX
	Valence  Status = C.RETORT_VALENCE
	Kekulize Status = C.RETORT_KEKULIZE
	Empty    Status = C.RETORT_EMPTY
	Refused  Status = C.RETORT_REFUSED
	Budget   Status = C.RETORT_BUDGET
	Failed   Status = C.RETORT_FAILED
)

// Failure is why RDKit did not do as asked. Atom is the index of the atom concerned, in the
// order written, or -1.
type Failure struct {
	Status  Status
	Atom    int
	Message string
}

// Error is RDKit's own wording.
func (f *Failure) Error() string { return f.Message }

// Version is the version of the linked RDKit, for example "2022.09.3".
func Version() string { return C.GoString(C.retort_rdkit_version()) }

// chars gives C the bytes of a string for the time of one call.
func chars(s string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

// join lays texts one after the other, with the offsets where each ends.
func join(texts []string) (*C.char, *C.uint32_t, string, []uint32) {
	ends := make([]uint32, len(texts))
	size := 0
	for i, t := range texts {
		size += len(t)
		ends[i] = uint32(size)
	}
	all := strings.Join(texts, "")
	at, _ := chars(all)
	return at, (*C.uint32_t)(unsafe.SliceData(ends)), all, ends
}

// take copies an answer into Go and frees it.
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
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"), nil
}
