package safe

import (
	"maps"
	"slices"
	"strings"

	"retort/chem/rdkit"
	"retort/chem/smiles"
)

// numbered replaces the labels [n*] of cuts and open positions with the numbers of SAFE: unused ring numbers, or 1, 2 …
// in brackets. They are assigned in the order of the labels as strings, [10*] before [2*], as in the reference. Any
// other label is a wildcard atom of the molecule and becomes "*".
func (o EncodeOptions) numbered(joined string, p *rdkit.Pieces) string {
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
	return withNumbers(joined, numbers)
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

// withNumbers replaces labels with numbers. A branch that is only a label, "([7*])" or "(=[7*])", loses its
// parentheses, as SMILES requires.
func withNumbers(joined string, numbers map[string]string) string {
	all := slices.Collect(smiles.Tokens(joined))
	var out strings.Builder
	for len(all) > 0 {
		if number, length := branchOfLabel(joined, all, numbers); length > 0 {
			out.WriteString(number)
			all = all[length:]
			continue
		}
		text := all[0].In(joined)
		if number, ok := numbers[text]; ok {
			text = number
		}
		out.WriteString(text)
		all = all[1:]
	}
	return out.String()
}

// branchOfLabel returns the replacement of a branch at the start of the tokens that is only a label, with or without a
// bond, and the number of tokens that it replaces. The number is 0 if there is no such branch.
func branchOfLabel(joined string, all []smiles.Token, numbers map[string]string) (text string, length int) {
	if all[0].Kind != smiles.Open {
		return "", 0
	}
	bond := ""
	at := 1
	if at < len(all) && all[at].Kind == smiles.Bond {
		bond = all[at].In(joined)
		at++
	}
	if at+1 >= len(all) || all[at+1].Kind != smiles.Close {
		return "", 0
	}
	number, ok := numbers[all[at].In(joined)]
	if !ok {
		return "", 0
	}
	return bond + number, at + 2
}
