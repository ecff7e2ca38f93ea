package rdkit

// #include "shim.h"
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Query is a compiled pattern. Any number of goroutines may use it.
type Query struct{ c *C.retort_query }

// NewQuery compiles a SMILES fragment without its dummies.
func NewQuery(smiles string) (*Query, error) {
	text, size := chars(smiles)
	var failure C.retort_answer
	c := C.retort_query_new(text, size, &failure)
	if _, err := take(failure); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New("rdkit: no pattern")
	}
	q := &Query{c: c}
	runtime.AddCleanup(q, func(c *C.retort_query) { C.retort_query_free(c) }, c)
	return q, nil
}

// Match is the outcome of a search in one molecule. The zero value means that the pattern does not match.
type Match uint8

// The other outcomes of a search.
const (
	Present    Match = 1
	Unreadable Match = 2 // not a molecule
	OverBudget Match = 3 // the search exceeded its step budget
)

// Contains searches the molecules for the pattern.
func (q *Query) Contains(smiles []string) []Match {
	if len(smiles) == 0 {
		return nil
	}
	out := make([]Match, len(smiles))
	text, ends := join(smiles)
	C.retort_contains(q.c, text, ends, C.int32_t(len(smiles)), (*C.uint8_t)(unsafe.Pointer(&out[0])))
	runtime.KeepAlive(q)
	return out
}
