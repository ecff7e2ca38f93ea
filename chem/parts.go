package chem

import "retort/chem/rdkit"

// LargestFragment returns the canonical SMILES of the largest component: the one with the most heavy atoms, then the
// heaviest, then the first in byte order.
func LargestFragment(smiles string) (string, error) { return withText(smiles, rdkit.Largest) }

// OpenPositions adds an open position "*" to up to count random atoms that have a hydrogen and no open position. The
// same seed opens the same positions.
func OpenPositions(smiles string, count int, seed uint64) (string, error) {
	return withText(smiles, func(text string) (string, error) { return rdkit.Open(text, count, seed) })
}

// maxHalves bounds the work of one call of [Halves].
const maxHalves = 16

// Halves cuts up to count (at most 16) random acyclic single bonds, one at a time. Each result is a canonical SMILES of
// both sides, with [1*] at the cut: "[1*]C.[1*]O" for methanol. The same seed cuts the same bonds.
func Halves(smiles string, count int, seed uint64) ([]string, error) {
	return withText(smiles, func(text string) ([]string, error) {
		return rdkit.Halves(text, min(count, maxHalves), seed)
	})
}

// withText calls work with the text of a SMILES within the limits. Its error has the position in the SMILES.
func withText[T any](smiles string, work func(text string) (T, error)) (T, error) {
	var zero T
	text, err := Check(smiles)
	if err != nil {
		return zero, err
	}
	result, err := work(text)
	if err != nil {
		return zero, Explain(smiles, err)
	}
	return result, nil
}
