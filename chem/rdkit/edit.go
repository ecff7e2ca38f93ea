package rdkit

// #include "shim.h"
import "C"

import "runtime"

// Mutations are up to count molecules that one small random change makes of a molecule; with stereo a change of its
// configuration alone.
func Mutations(smiles string, count int, stereo bool, seed uint64) ([]string, error) {
	kind := C.int32_t(0)
	if stereo {
		kind = 1
	}
	text, size := chars(smiles)
	defer runtime.KeepAlive(smiles)
	return some(C.retort_mutations(text, size, C.int32_t(count), kind, C.uint64_t(seed)))
}

// Crossovers are up to count molecules made of a part of each of two.
func Crossovers(first, second string, count int, seed uint64) ([]string, error) {
	one, oneSize := chars(first)
	two, twoSize := chars(second)
	defer runtime.KeepAlive(first)
	defer runtime.KeepAlive(second)
	return some(C.retort_crossovers(one, oneSize, two, twoSize, C.int32_t(count), C.uint64_t(seed)))
}

// some splits an answer of any number of texts, of which none is empty.
func some(a C.retort_answer) ([]string, error) {
	texts, err := fields(a)
	if len(texts) == 1 && texts[0] == "" {
		return nil, err
	}
	return texts, err
}
