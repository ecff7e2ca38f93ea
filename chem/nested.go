package chem

import (
	"fmt"
	"regexp"
	"strings"

	"retort/chem/rdkit"
)

// End is a cut bond or an open position seen from the fragment on one side of it.
type End struct {
	// Text is the fragment, written from this end on. Each of its other ends is
	// written "*", without parentheses; "=" before the first atom, or before a
	// "*", makes a double bond.
	Text string
	// Across is the index of the End on the other side of a cut, -1 for an open
	// position.
	Across int
	// Others are the indices of the fragment's other ends in the order of Text.
	Others []int
	// Fragment numbers the fragment, from 0.
	Fragment int
}

var bareEnd = regexp.MustCompile(`\(([-=#/\\]?)\*\)`)

// Ends cuts a molecule, or several, and lists all ends of all fragments. Since
// cuts are never in a ring, the fragments of a molecule hang together as a tree.
// Dummy atoms are open positions, as in [EncodeSAFE]; stereo is kept, and bonds
// whose cut would lose it stay. A molecule without cuts and open positions has
// no ends.
func Ends(smiles string, slicer Slicer) ([]End, error) {
	text, err := Limits{}.check(smiles)
	if err != nil {
		return nil, err
	}
	pieces, err := rdkit.Cut(text, slicer.native(), 0, 0)
	if err != nil {
		return nil, explain(text, err)
	}
	var ends []End
	labels, place := []int{}, map[[2]int]int{} // of the ends; their indices by fragment and label
	written := make([][]rdkit.Rooted, len(pieces.All))
	for i, piece := range pieces.All {
		if written[i], err = rdkit.RootedAll(piece.SMILES); err != nil {
			return nil, explain(piece.SMILES, err)
		}
		for _, form := range written[i] {
			if !hasAtom(form.SMILES) {
				return nil, fmt.Errorf("%q: a fragment of open positions only", text)
			}
			place[[2]int{i, form.Labels[0]}] = len(ends)
			inside, _ := strings.CutPrefix(form.SMILES, "*")
			ends = append(ends, End{Text: bareEnd.ReplaceAllString(inside, "$1*"), Across: -1, Fragment: i})
			labels = append(labels, form.Labels[0])
		}
	}
	for i := range ends {
		for j := range ends {
			if labels[i] == labels[j] && ends[i].Fragment != ends[j].Fragment {
				ends[i].Across = j
			}
		}
	}
	for i, forms := range written {
		for _, form := range forms {
			end := &ends[place[[2]int{i, form.Labels[0]}]]
			for _, label := range form.Labels[1:] {
				end.Others = append(end.Others, place[[2]int{i, label}])
			}
		}
	}
	return ends, nil
}
