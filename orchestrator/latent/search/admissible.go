package search

import (
	"strings"

	"retort/chem"
	"retort/chem/smiles"
)

// maxHeavyAtoms is the largest number of heavy atoms of a molecule that the models were trained on.
const maxHeavyAtoms = 60

// admits reports whether a molecule may be a result for a seed. It keeps out what raises many scores without a better
// molecule:
//
//   - more components than the seed has, such as a counter-ion
//   - more unpaired electrons than the seed has
//   - more heavy atoms than both the seed and the training molecules have, such as a chain of a hundred carbons
//   - an atom in brackets that neither is ordinary nor occurs in the seed: a metal, an isotope or an unusual charge
func (s *Seed) admits(m *chem.Molecule) bool {
	text := m.SMILES()
	if strings.Count(text, ".") > strings.Count(s.SMILES, ".") || m.Radicals() > s.Radicals {
		return false
	}
	if m.HeavyAtoms() > max(maxHeavyAtoms, s.HeavyAtoms) {
		return false
	}
	for t := range smiles.Tokens(text) {
		atom := t.In(text)
		b, bracket := smiles.ParseBracket(atom)
		if bracket && !isOrdinary(b) && !strings.Contains(s.SMILES, atom) {
			return false
		}
	}
	return true
}

// The elements of ordinary atoms in brackets, by charge. Aromatic ones are in lower case.
const (
	neutral  = " H B C N O F Si P S Cl Se Br I b c n o p s se "
	positive = " N n S P "
	negative = " O S N n "
)

// isOrdinary reports whether an atom in brackets is of a kind that drug-like molecules have.
func isOrdinary(b smiles.Bracket) bool {
	element := " " + b.Element + " "
	switch {
	case b.Isotope+b.Map != "":
		return false
	case b.Charge == "":
		return strings.Contains(neutral, element)
	case b.Charge == "+":
		return strings.Contains(positive, element)
	case b.Charge == "-":
		return strings.Contains(negative, element)
	}
	return false
}
