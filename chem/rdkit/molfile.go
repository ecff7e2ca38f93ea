package rdkit

// #include "molfile.h"
import "C"

import "runtime"

// ReadMolfile returns the canonical SMILES of a mol block.
func ReadMolfile(block string) (string, error) {
	text, size := chars(block)
	defer runtime.KeepAlive(block)
	return take(C.retort_read_molfile(text, size))
}
