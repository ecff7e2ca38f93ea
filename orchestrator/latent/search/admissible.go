package search

import (
	"strings"

	"retort/chem"
	"retort/chem/smiles"
)

// mostHeavyAtoms is how many heavy atoms the molecules have at most that the models were trained on.
const mostHeavyAtoms = 60

// admits reports whether a molecule may be an answer for a seed. It has no more components than the seed: a counter-ion
// beside the molecule raises many a score and is no better molecule. It has no more unpaired electrons, and is no larger
// than what the models know or the seed: a chain of a hundred carbons raises many a score too. And each of its
// atoms in brackets is of an ordinary kind or stands in the seed as well, so that no metal between two carbons, no
// isotope and no unusual charge comes in.
func (s *Seed) admits(m *chem.Molecule) bool {
	text := m.SMILES()
	if strings.Count(text, ".") > strings.Count(s.SMILES, ".") || m.Radicals() > s.Radicals {
		return false
	}
	if m.HeavyAtoms() > max(mostHeavyAtoms, s.HeavyAtoms) {
		return false
	}
	for t := range smiles.Tokens(text) {
		atom := t.In(text)
		b, bracket := smiles.ParseBracket(atom)
		if bracket && !ordinary(b) && !strings.Contains(s.SMILES, atom) {
			return false
		}
	}
	return true
}

// The elements, aromatic ones in small letters, of ordinary atoms in brackets, by charge.
const (
	neutral  = " H B C N O F Si P S Cl Se Br I b c n o p s se "
	positive = " N n S P "
	negative = " O S N n "
)

// ordinary reports whether an atom in brackets is of a kind that drug-like molecules have.
func ordinary(b smiles.Bracket) bool {
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
