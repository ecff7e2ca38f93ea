package safe

import (
	"errors"
	"fmt"
	"strings"

	"retort/chem"
	"retort/chem/rdkit"
)

// End is one side of a cut bond, or an open position, of a fragment.
type End struct {
	// Text is the fragment, written from this end. Each of its other ends is "*" without parentheses. A "=" before the
	// first atom or before a "*" makes the bond a double bond.
	Text string
	// Across is the index of the End on the other side of the cut, or -1 for an open position.
	Across int
	// Others are the indices of the fragment's other ends, in the order of Text.
	Others []int
	// Fragment is the number of the fragment, from 0.
	Fragment int
}

// Ends cuts a molecule, which may have several components, and lists the ends of all fragments. Since no cut is in a
// ring, the fragments of a component form a tree. Open positions and stereo are treated as in [Encode]. A molecule
// without cuts and open positions has no ends. An open position with more than one bond is an error.
func Ends(molecule string, slicer Slicer) ([]End, error) {
	text, err := chem.Check(molecule)
	if err != nil {
		return nil, err
	}
	pieces, err := rdkit.Cut(text, slicer.native())
	if err != nil {
		return nil, chem.Explain(molecule, err)
	}
	f := &fragmentForms{index: map[fragmentEnd]int{}}
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
	for i, end := range f.ends {
		if end.Across < 0 && !pieces.Open[f.labels[i][0]] {
			return nil, fmt.Errorf("%q: an open position has more than one bond", text)
		}
	}
	return f.ends, nil
}

// fragmentEnd identifies an end by its fragment and its label. Both ends of a cut have the same label.
type fragmentEnd struct{ fragment, label int }

// fragmentForms are the fragments, written from each of their ends.
type fragmentForms struct {
	ends   []End
	labels [][]int // per end: its label, then the labels of the other ends in the order of its text
	index  map[fragmentEnd]int
}

// add appends the ends of a fragment.
func (f *fragmentForms) add(fragment int, all []rdkit.Rooted) error {
	for _, form := range all {
		if !hasAtom(form.SMILES) {
			return errors.New("a fragment of open positions only")
		}
		f.index[fragmentEnd{fragment, form.Labels[0]}] = len(f.ends)
		inside := strings.TrimPrefix(form.SMILES, "*")
		f.ends = append(f.ends, End{Text: withoutBranches.Replace(inside), Across: -1, Fragment: fragment})
		f.labels = append(f.labels, form.Labels)
	}
	return nil
}

// connect sets Across and Others of all ends.
func (f *fragmentForms) connect() {
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

// withoutBranches removes the parentheses of branches that are only a dummy: "C(=*)C" becomes "C=*C".
var withoutBranches = numberReplacer(map[string]string{"*": "*"})
