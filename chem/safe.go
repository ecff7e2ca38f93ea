package chem

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"retort/chem/rdkit"
)

// SAFE writes a molecule as fragments separated by dots; a number that occurs in two fragments is
// a bond between them: "c17ccccc1.C7=O". A SAFE string is a SMILES string too. (Noutahi et al.,
// "Gotta be SAFE", Digital Discovery 3, 796, 2024; reference: github.com/datamol-io/safe 0.2.1.)
//
// In the bracket form of GenMol's second version a bond between fragments is written <7>, and each
// fragment's own ring numbers start at 1 again: "c1<1>ccccc1.C<1>=O".

// ErrNoCut says that the slicer finds no bond to cut.
var ErrNoCut = errors.New("no bond to cut")

// Slicer says which bonds are cut to make fragments.
type Slicer uint8

// The slicers of EncodeSAFE.
const (
	BRICS       Slicer = iota // retrosynthetically interesting bonds: the published SAFE
	SingleBonds               // every single bond that is not in a ring
	Rotatable                 // single bonds that are not in a ring or at its end, nor beside a triple bond
	Whole                     // none: the components are the fragments
)

func (s Slicer) native() rdkit.Slicer {
	return [...]rdkit.Slicer{rdkit.SliceBRICS, rdkit.SliceSingle, rdkit.SliceRotatable, rdkit.SliceNone}[s]
}

// EncodeOptions tell how a molecule is written as SAFE. The zero value is the published form:
// BRICS, largest fragment first, stereo kept.
type EncodeOptions struct {
	Slicer       Slicer
	Brackets     bool   // write bonds between fragments as <1>
	DropStereo   bool   // stereo is dropped first; otherwise bonds whose cut would lose it are kept
	RequireCut   bool   // ErrNoCut, not the uncut molecule, when there is nothing to cut
	ShuffleOrder bool   // fragments in random order
	ShuffleAtoms bool   // fragments start at random atoms
	Seed         uint64 // of both; the same seed gives the same string
	Limits       Limits // of the SMILES
}

// EncodeSAFE writes a molecule as SAFE. A dummy atom at the end of a bond ("*", "[3*]", "[*:3]")
// is an open position and becomes a number that occurs once: "*c1ccccc1" is "c12ccccc1".
func EncodeSAFE(smiles string, o EncodeOptions) (string, error) {
	text, err := o.Limits.check(smiles)
	if err != nil {
		return "", err
	}
	if o.Slicer > Whole {
		return "", fmt.Errorf("unknown slicer %d", o.Slicer)
	}
	pieces, err := rdkit.Cut(text, o.Slicer.native(), o.flags(), o.Seed)
	if err != nil {
		return "", explain(text, err)
	}
	if o.RequireCut && pieces.Found == 0 {
		return "", fmt.Errorf("%q: %w", text, ErrNoCut)
	}
	joined, err := o.ordered(pieces)
	if err != nil {
		return "", err
	}
	safe := o.numbered(joined, pieces)
	if pieces.Key == "" || !differs(safe, pieces.Key) {
		return safe, nil
	}
	// Some crowded stereo systems are read differently once cut. The molecule in one piece is
	// also SAFE, and right.
	o.Slicer = Whole
	if pieces, err = rdkit.Cut(text, rdkit.SliceNone, o.flags(), o.Seed); err != nil {
		return "", explain(text, err)
	}
	if joined, err = o.ordered(pieces); err != nil {
		return "", err
	}
	if safe = o.numbered(joined, pieces); !differs(safe, pieces.Key) || len(pieces.Open) > 0 {
		return safe, nil
	}
	return pieces.SMILES, nil
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

func hasAtom(smiles string) bool {
	for t := range tokens(smiles) {
		if _, dummy := dummyLabel(smiles[t.at:t.end]); t.kind == atomToken && !dummy {
			return true
		}
	}
	return false
}

// dummyLabel reads "[12*]", and "*" as label 0.
func dummyLabel(atom string) (int, bool) {
	if atom == "*" {
		return 0, true
	}
	inside, bracket := strings.CutPrefix(atom, "[")
	inside, star := strings.CutSuffix(inside, "*]")
	if !bracket || !star {
		return 0, false
	}
	n, err := strconv.Atoi(inside)
	return n, err == nil
}

// numbered replaces the labels by ring numbers that are still free, in the order of the labels as
// strings ([10*] before [2*], as the reference sorts them).
func (o EncodeOptions) numbered(joined string, p *rdkit.Pieces) string {
	times, highest := map[string]int{}, 0
	for t := range tokens(joined) {
		if n, dummy := dummyLabel(joined[t.at:t.end]); dummy && n > 0 {
			times[joined[t.at:t.end]]++
		}
	}
	if !o.Brackets {
		highest = max(highestRing(joined), highestRing(p.SMILES))
	}
	labels := make([]string, 0, len(times))
	for label := range times {
		labels = append(labels, label)
	}
	slices.Sort(labels)
	written := map[string]string{}
	for i, label := range labels {
		written[label] = ringNumber(highest + i + 1)
		if o.Brackets {
			written[label] = "<" + written[label] + ">"
		}
		if n, _ := dummyLabel(label); times[label] < 2 && !p.Open[n] {
			written[label] = "*" // an atom of the molecule, not an open position
		}
	}
	return rewrite(joined, written)
}

func highestRing(text string) (highest int) {
	for t := range tokens(text) {
		if t.kind == ringToken {
			highest = max(highest, t.ring)
		}
	}
	return highest
}

// rewrite puts numbers in the place of labels. A number in a branch of its own, "(7)" or "(=7)", is
// written without parentheses, as SMILES has it.
func rewrite(joined string, written map[string]string) string {
	var all []token
	for t := range tokens(joined) {
		all = append(all, t)
	}
	var out strings.Builder
	for i := 0; i < len(all); i++ {
		if number, end := lone(joined, all, i, written); end > 0 {
			out.WriteString(number)
			i = end
			continue
		}
		text := joined[all[i].at:all[i].end]
		if number, ok := written[text]; ok {
			text = number
		}
		out.WriteString(text)
	}
	return out.String()
}

// lone recognises a branch that is only a label, with or without a bond, starting at token i.
func lone(joined string, all []token, i int, written map[string]string) (text string, end int) {
	if all[i].kind != openToken {
		return "", 0
	}
	bond := ""
	j := i + 1
	if j < len(all) && all[j].kind == bondToken {
		bond = joined[all[j].at:all[j].end]
		j++
	}
	if j+1 >= len(all) || all[j+1].kind != closeToken {
		return "", 0
	}
	number, ok := written[joined[all[j].at:all[j].end]]
	if !ok || number == "*" {
		return "", 0
	}
	return bond + number, j + 1
}

// differs reports whether a SAFE string is not the molecule with this key.
func differs(safe, key string) bool {
	text, err := plain(safe)
	if err != nil {
		return true
	}
	_, got, err := rdkit.Join(closed(text), false)
	return err != nil || got != key
}
