package safe

import (
	"fmt"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/rdkit"
	"retort/chem/smiles"
)

// Slicer says which bonds are cut to make fragments.
type Slicer uint8

// The slicers.
const (
	BRICS       Slicer = iota // retrosynthetically interesting bonds: the published SAFE
	SingleBonds               // all single bonds outside of rings
	Whole                     // none: the components are the fragments
)

func (s Slicer) native() rdkit.Slicer {
	return [...]rdkit.Slicer{rdkit.SliceBRICS, rdkit.SliceSingle, rdkit.SliceNone}[s]
}

// EncodeOptions select the form of SAFE. The zero value is the published form.
type EncodeOptions struct {
	Slicer   Slicer
	Brackets bool // write bonds between fragments as <1>
}

// Encode writes a molecule as SAFE, the largest fragment first. Bonds whose cut would lose stereo stay. A dummy atom at
// the end of a bond ("*", "[3*]", "[*:3]") is an open position and becomes a number that occurs once: "*c1ccccc1" is
// "c12ccccc1". The errors are those of [chem.Parse].
func Encode(molecule string, o EncodeOptions) (string, error) {
	text, err := chem.Check(molecule)
	if err != nil {
		return "", err
	}
	if o.Slicer > Whole {
		return "", fmt.Errorf("unknown slicer %d", o.Slicer)
	}
	encoded, key, err := o.encode(molecule, text)
	if err != nil {
		return "", err
	}
	if key != "" && hasOtherKey(encoded, key) {
		// RDKit reads some crowded stereo systems differently once they are cut. In one piece they are SAFE too.
		o.Slicer = Whole
		encoded, _, err = o.encode(molecule, text)
	}
	return encoded, err
}

// encode writes a molecule and returns the key to compare the result with, or "" if the molecule has no stereo.
func (o EncodeOptions) encode(molecule, text string) (encoded, key string, err error) {
	pieces, err := rdkit.Cut(text, o.Slicer.native())
	if err != nil {
		return "", "", chem.Explain(molecule, err)
	}
	joined, err := joinPieces(pieces)
	if err != nil {
		return "", "", err
	}
	return o.replaceLabels(joined, pieces), pieces.Key, nil
}

// joinPieces joins the fragments with dots, the largest first. They still have their labels [n*].
func joinPieces(p *rdkit.Pieces) (string, error) {
	sorted := slices.Clone(p.All)
	slices.SortStableFunc(sorted, func(a, b rdkit.Piece) int { return b.Atoms - a.Atoms })
	texts := make([]string, len(sorted))
	for i, piece := range sorted {
		if (len(sorted) > 1 || piece.Atoms > 1) && !hasAtom(piece.SMILES) {
			return "", fmt.Errorf("%q: a fragment of open positions only", p.SMILES)
		}
		texts[i] = piece.SMILES
	}
	return strings.Join(texts, "."), nil
}

// hasAtom reports whether a fragment has an atom that is not a dummy.
func hasAtom(fragment string) bool {
	for t := range smiles.Tokens(fragment) {
		if t.Kind != smiles.Atom {
			continue
		}
		if _, dummy := smiles.Dummy(t.In(fragment)); !dummy {
			return true
		}
	}
	return false
}

// hasOtherKey reports whether a SAFE string is another molecule than the one with the key.
func hasOtherKey(safe, key string) bool {
	text, err := toPlain(safe)
	if err != nil {
		return true
	}
	_, got, err := rdkit.Join(closeNumbers(text), false)
	return err != nil || got != key
}
