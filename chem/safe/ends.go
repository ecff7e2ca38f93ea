package safe

import (
	"errors"
	"fmt"
	"strings"

	"retort/chem"
	"retort/chem/rdkit"
)

// End is a cut bond or an open position seen from the fragment on one side of it.
type End struct {
	// Text is the fragment, written from this end on. Each of its other ends is written "*", without parentheses; "="
	// before the first atom, or before a "*", makes a double bond.
	Text string
	// Across is the index of the End on the other side of a cut, -1 for an open position.
	Across int
	// Others are the indices of the fragment's other ends in the order of Text.
	Others []int
	// Fragment numbers the fragment, from 0.
	Fragment int
}

// Ends cuts a molecule, or several, and lists all ends of all fragments. Since cuts are never in a ring, the fragments
// of a molecule hang together as a tree. Dummy atoms are open positions, as in [Encode]; stereo is kept, and bonds
// whose cut would lose it stay. A molecule without cuts and open positions has no ends.
func Ends(molecule string, slicer Slicer) ([]End, error) {
	text, err := chem.Limits{}.Check(molecule)
	if err != nil {
		return nil, err
	}
	pieces, err := rdkit.Cut(text, slicer.native(), 0, 0)
	if err != nil {
		return nil, chem.Explain(molecule, err)
	}
	f := &forms{index: map[fragmentEnd]int{}}
	for i, piece := range pieces.All {
		all, err := rdkit.RootedAll(piece.SMILES)
		if err != nil {
			return nil, chem.Explain(piece.SMILES, err)
		}
		if err := f.add(i, all); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
	}
	f.connect()
	return f.ends, nil
}

// fragmentEnd names an end by its fragment and the label RDKit gave it, which the two ends of a cut share.
type fragmentEnd struct{ fragment, label int }

// forms are the fragments as written from each of their ends.
type forms struct {
	ends   []End
	labels [][]int // of each end: its label, then those of the fragment's other ends in the order of its text
	index  map[fragmentEnd]int
}

// add appends the ends of a fragment.
func (f *forms) add(fragment int, all []rdkit.Rooted) error {
	for _, form := range all {
		if !hasAtom(form.SMILES) {
			return errors.New("a fragment of open positions only")
		}
		f.index[fragmentEnd{fragment, form.Labels[0]}] = len(f.ends)
		inside := strings.TrimPrefix(form.SMILES, "*")
		f.ends = append(f.ends, End{Text: withoutBranches(inside), Across: -1, Fragment: fragment})
		f.labels = append(f.labels, form.Labels)
	}
	return nil
}

// connect fills in which ends are across from each other and which belong to one fragment.
func (f *forms) connect() {
	for i := range f.ends {
		end := &f.ends[i]
		for j, other := range f.ends {
			if f.labels[i][0] == f.labels[j][0] && end.Fragment != other.Fragment {
				end.Across = j
			}
		}
		for _, label := range f.labels[i][1:] {
			end.Others = append(end.Others, f.index[fragmentEnd{end.Fragment, label}])
		}
	}
}

// withoutBranches writes a dummy that is a branch by itself without parentheses: "C(=*)C" is "C=*C".
func withoutBranches(text string) string {
	return withNumbers(text, map[string]string{"*": "*"})
}
