package safe

import (
	"maps"
	"slices"
	"strings"

	"retort/chem/rdkit"
	"retort/chem/smiles"
)

// replaceLabels replaces the labels [n*] of cuts and open positions with the numbers of SAFE: unused ring numbers, or
// 1, 2 … in brackets. They are assigned in the order of the labels as strings, [10*] before [2*], as in the reference.
// Any other label is a wildcard atom of the molecule and becomes "*".
func (o EncodeOptions) replaceLabels(joined string, p *rdkit.Pieces) string {
	highest := 0
	if !o.Brackets {
		highest = max(smiles.HighestRing(joined), smiles.HighestRing(p.SMILES))
	}
	times := countLabels(joined)
	wildcards := map[string]bool{}
	numbers := map[string]string{}
	for i, label := range slices.Sorted(maps.Keys(times)) {
		number := smiles.RingNumber(highest + i + 1)
		if o.Brackets {
			number = "<" + number + ">"
		}
		if n, _ := smiles.Dummy(label); times[label] < 2 && !p.Open[n] {
			wildcards[label] = true
		} else {
			numbers[label] = number
		}
	}
	joined = smiles.ReplaceAtoms(joined, func(atom string) string {
		if wildcards[atom] {
			return "*"
		}
		return atom
	})
	return numberReplacer(numbers).Replace(joined)
}

// countLabels counts how often each label [n*] occurs.
func countLabels(joined string) map[string]int {
	times := map[string]int{}
	for t := range smiles.Tokens(joined) {
		if t.Kind != smiles.Atom {
			continue
		}
		if n, dummy := smiles.Dummy(t.In(joined)); dummy && n > 0 {
			times[t.In(joined)]++
		}
	}
	return times
}

// bonds are the bonds that SMILES writes, and none.
var bonds = []string{"", "-", "=", "#", "$", ":", "~", "/", `\`, "->", "<-"}

// numberReplacer returns a replacer of labels by numbers. A branch that is only a label, "([7*])" or "(=[7*])", loses
// its parentheses, as SMILES requires.
func numberReplacer(numbers map[string]string) *strings.Replacer {
	var pairs []string
	for label, number := range numbers {
		for _, bond := range bonds {
			pairs = append(pairs, "("+bond+label+")", bond+number)
		}
		pairs = append(pairs, label, number)
	}
	return strings.NewReplacer(pairs...)
}
