package safe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/rdkit"
	"retort/chem/smiles"
)

// ErrNoCut says that the slicer finds no bond to cut.
var ErrNoCut = errors.New("no bond to cut")

// Slicer says which bonds are cut to make fragments.
type Slicer uint8

// The slicers.
const (
	BRICS       Slicer = iota // retrosynthetically interesting bonds: the published SAFE
	SingleBonds               // every single bond that is not in a ring
	Rotatable                 // single bonds that are not in a ring or at its end, nor beside a triple bond
	Whole                     // none: the components are the fragments
)

func (s Slicer) native() rdkit.Slicer {
	return [...]rdkit.Slicer{rdkit.SliceBRICS, rdkit.SliceSingle, rdkit.SliceRotatable, rdkit.SliceNone}[s]
}

// EncodeOptions tell how a molecule is written as SAFE. The zero value is the published form: BRICS, largest fragment
// first, stereo kept.
type EncodeOptions struct {
	Slicer       Slicer
	Brackets     bool        // write bonds between fragments as <1>
	DropStereo   bool        // stereo is dropped first; otherwise bonds whose cut would lose it are kept
	RequireCut   bool        // ErrNoCut, not the uncut molecule, when there is nothing to cut
	ShuffleOrder bool        // fragments in random order
	ShuffleAtoms bool        // fragments start at random atoms
	Seed         uint64      // of both; the same seed gives the same string
	Limits       chem.Limits // of the SMILES
}

// Encode writes a molecule as SAFE. A dummy atom at the end of a bond ("*", "[3*]", "[*:3]") is an open position and
// becomes a number that occurs once: "*c1ccccc1" is "c12ccccc1".
func Encode(molecule string, o EncodeOptions) (string, error) {
	text, err := o.Limits.Check(molecule)
	if err != nil {
		return "", err
	}
	if o.Slicer > Whole {
		return "", fmt.Errorf("unknown slicer %d", o.Slicer)
	}
	// Some crowded stereo systems are read differently once cut, or started elsewhere. The molecule in one piece,
	// started as its canonical SMILES does, is also SAFE, and right.
	whole, still := o, o
	whole.Slicer = Whole
	still.Slicer, still.ShuffleAtoms = Whole, false
	for i, attempt := range []EncodeOptions{o, whole, still} {
		safe, key, err := attempt.encode(molecule, text)
		if err != nil {
			return "", err
		}
		if i == 2 || key == "" || !differs(safe, key) {
			return safe, nil
		}
	}
	panic("unreachable")
}

// encode writes a molecule, and returns the key of the molecule it should be ("": no need to look).
func (o EncodeOptions) encode(molecule, text string) (safe, key string, err error) {
	pieces, err := rdkit.Cut(text, o.Slicer.native(), o.flags(), o.Seed)
	if err != nil {
		return "", "", chem.Explain(molecule, err)
	}
	if o.RequireCut && o.Slicer != Whole && pieces.Found == 0 {
		return "", "", fmt.Errorf("%q: %w", text, ErrNoCut)
	}
	joined, err := o.ordered(pieces)
	if err != nil {
		return "", "", err
	}
	return o.numbered(joined, pieces), pieces.Key, nil
}

func (o EncodeOptions) flags() (f rdkit.CutFlags) {
	if o.DropStereo {
		f |= rdkit.DropStereo
	}
	if o.ShuffleAtoms {
		f |= rdkit.ShuffleAtoms
	}
	return f
}

// ordered joins the fragments, still with their labels [n*].
func (o EncodeOptions) ordered(p *rdkit.Pieces) (string, error) {
	all := slices.Clone(p.All)
	if o.ShuffleOrder {
		random := rand.New(rand.NewPCG(o.Seed, 0x5afe))
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	} else {
		slices.SortStableFunc(all, func(a, b rdkit.Piece) int { return b.Atoms - a.Atoms })
	}
	texts := make([]string, len(all))
	for i, piece := range all {
		if len(all) > 1 && !hasAtom(piece.SMILES) || piece.Atoms > 1 && !hasAtom(piece.SMILES) {
			return "", fmt.Errorf("%q: a fragment of open positions only", p.SMILES)
		}
		texts[i] = piece.SMILES
	}
	return strings.Join(texts, "."), nil
}

// hasAtom tells whether a fragment has an atom that is not a dummy.
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

// differs reports whether a SAFE string is not the molecule with this key of [rdkit.Join].
func differs(safe, key string) bool {
	text, err := plain(safe)
	if err != nil {
		return true
	}
	_, got, err := rdkit.Join(closed(text), false)
	return err != nil || got != key
}
