package search

import (
	"strings"

	"retort/chem/smiles"
)

// admits reports whether a canonical SMILES may be an answer for a seed: it has no more components than the seed (a
// counter-ion beside the molecule raises many a score and is no better molecule) and no more atoms with an unpaired
// electron.
func (s *Seed) admits(molecule string) bool {
	return strings.Count(molecule, ".") <= strings.Count(s.SMILES, ".") && radicals(molecule) <= radicals(s.SMILES)
}

// radicals counts the atoms of a canonical SMILES that have an unpaired electron.
func radicals(molecule string) int {
	count := 0
	for t := range smiles.Tokens(molecule) {
		if b, ok := smiles.ParseBracket(t.In(molecule)); ok && b.Radical() {
			count++
		}
	}
	return count
}
