package chem

import "retort/chem/rdkit"

// BRICSBond is a bond that BRICS retrosynthesis would break: its two atoms, as indices in the order written, and the
// BRICS environment of each (1 to 16).
type BRICSBond = rdkit.BRICSBond

// BRICSBonds lists the BRICS bonds of a molecule as written, in the order of RDKit's FindBRICSBonds (Degen et al.,
// ChemMedChem 3, 1503, 2008).
func BRICSBonds(smiles string) ([]BRICSBond, error) { return on(smiles, rdkit.BRICS) }

// LargestFragment returns the canonical SMILES of the largest component: the one with most heavy atoms, among those the
// heaviest, among those the first in byte order.
func LargestFragment(smiles string) (string, error) { return on(smiles, rdkit.Largest) }

// Scaffold returns the canonical SMILES of the Bemis-Murcko scaffold, ring systems and what links them (J. Med. Chem.
// 39, 2887, 1996), without stereo. It is "" for a molecule without rings.
func Scaffold(smiles string) (string, error) { return on(smiles, rdkit.Murcko) }

// OpenPositions returns the molecule with open positions "*" on up to count different atoms that have a hydrogen and
// are not open yet. The same seed opens the same positions.
func OpenPositions(smiles string, count int, seed uint64) (string, error) {
	return on(smiles, func(s string) (string, error) { return rdkit.Open(s, count, seed) })
}

// maxHalves bounds the work of one call of Halves.
const maxHalves = 16

// Halves cuts up to count (at most 16) different acyclic single bonds, one at a time. Each result is the two sides,
// with [1*] where the bond was, as one canonical SMILES: "[1*]C.[1*]O" for methanol. The same seed cuts the same bonds;
// a molecule without such a bond has no halves.
func Halves(smiles string, count int, seed uint64) ([]string, error) {
	halves, err := on(smiles, func(s string) ([]string, error) {
		return rdkit.Halves(s, min(count, maxHalves), seed)
	})
	if len(halves) == 1 && halves[0] == "" {
		halves = nil
	}
	return halves, err
}

// on checks a text against the default limits, and explains what RDKit says.
func on[T any](smiles string, work func(string) (T, error)) (T, error) {
	var none T
	text, err := Limits{}.Check(smiles)
	if err != nil {
		return none, err
	}
	out, err := work(text)
	if err != nil {
		return none, Explain(smiles, err)
	}
	return out, nil
}
