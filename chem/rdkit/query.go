package rdkit

// #include "shim.h"
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Query is a compiled pattern. Any number of goroutines may use it.
type Query struct {
	c     *C.retort_query
	Atoms int
}

// NewQuery compiles SMARTS, or a SMILES fragment whose dummies are left out.
func NewQuery(text string, smarts bool) (*Query, error) {
	at, size := chars(text)
	kind := C.int32_t(0)
	if smarts {
		kind = 1
	}
	var atoms C.int32_t
	var failure C.retort_answer
	c := C.retort_query_new(at, size, kind, &atoms, &failure)
	runtime.KeepAlive(text)
	if _, err := take(failure); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New("rdkit: no pattern")
	}
	q := &Query{c: c, Atoms: int(atoms)}
	runtime.AddCleanup(q, func(c *C.retort_query) { C.retort_query_free(c) }, c)
	return q, nil
}

// Match is what a search in one molecule found.
type Match uint8

// The outcomes of a search.
const (
	Absent Match = iota
	Present
	Unreadable
	OverBudget
)

// Contains searches the molecules for the pattern.
func (q *Query) Contains(smiles []string) []Match {
	if len(smiles) == 0 {
		return nil
	}
	out := make([]Match, len(smiles))
	text, ends, all, offsets := join(smiles)
	C.retort_contains(q.c, text, ends, C.int32_t(len(smiles)), (*C.uint8_t)(unsafe.Pointer(&out[0])))
	runtime.KeepAlive(all)
	runtime.KeepAlive(offsets)
	runtime.KeepAlive(q)
	return out
}

// Sheet is how a picture is laid out; sizes are those of one panel, in pixels.
type Sheet struct {
	Width, Height, Columns int
	PNG, Transparent       bool
}

// Draw draws molecules in a grid; highlight may be nil.
func Draw(smiles, legends []string, highlight *Query, s Sheet) ([]byte, error) {
	sheet := C.retort_sheet{width: C.int32_t(s.Width), height: C.int32_t(s.Height), columns: C.int32_t(s.Columns)}
	if s.PNG {
		sheet.png = 1
	}
	if s.Transparent {
		sheet.transparent = 1
	}
	var query *C.retort_query
	if highlight != nil {
		query = highlight.c
	}
	text, ends, all, offsets := join(smiles)
	words, wordEnds, allWords, wordOffsets := join(legends)
	picture, err := take(C.retort_draw(text, ends, words, wordEnds, C.int32_t(len(smiles)), query, &sheet))
	for _, kept := range []any{all, offsets, allWords, wordOffsets, highlight} {
		runtime.KeepAlive(kept)
	}
	return []byte(picture), err
}
