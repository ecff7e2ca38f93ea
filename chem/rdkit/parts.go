package rdkit

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// BRICSBond is a bond between two atoms (indices in the order written) and their environments.
type BRICSBond struct{ Begin, End, First, Second int }

// BRICS lists the BRICS bonds of a molecule in the order of RDKit's FindBRICSBonds.
func BRICS(smiles string) ([]BRICSBond, error) {
	text, size := chars(smiles)
	lines, err := fields(C.retort_brics(text, size))
	runtime.KeepAlive(smiles)
	if err != nil {
		return nil, err
	}
	var bonds []BRICSBond
	for _, line := range lines {
		if line == "" {
			continue
		}
		var b BRICSBond
		if _, err := fmt.Sscan(line, &b.Begin, &b.End, &b.First, &b.Second); err != nil {
			return nil, err
		}
		bonds = append(bonds, b)
	}
	return bonds, nil
}

// Largest is the canonical SMILES of the largest component.
func Largest(smiles string) (string, error) {
	text, size := chars(smiles)
	defer runtime.KeepAlive(smiles)
	return take(C.retort_largest(text, size))
}

// Murcko is the canonical SMILES of the Bemis-Murcko scaffold, "" without rings.
func Murcko(smiles string) (string, error) {
	text, size := chars(smiles)
	defer runtime.KeepAlive(smiles)
	return take(C.retort_murcko(text, size))
}

// Open puts dummies on up to count atoms that have a hydrogen.
func Open(smiles string, count int, seed uint64) (string, error) {
	text, size := chars(smiles)
	defer runtime.KeepAlive(smiles)
	return take(C.retort_open(text, size, C.int32_t(count), C.uint64_t(seed)))
}

// Halves cuts each of up to count acyclic single bonds on its own: "[1*]A.[1*]B" per bond.
func Halves(smiles string, count int, seed uint64) ([]string, error) {
	text, size := chars(smiles)
	defer runtime.KeepAlive(smiles)
	return fields(C.retort_halves(text, size, C.int32_t(count), C.uint64_t(seed)))
}

// Rooted is a fragment written from one of its dummies.
type Rooted struct {
	SMILES string // begins with that dummy; no dummy has its label
	Labels []int  // of the dummies, in the order of the text
}

// RootedAll writes a fragment from each of its dummies.
func RootedAll(smiles string) ([]Rooted, error) {
	text, size := chars(smiles)
	lines, err := fields(C.retort_rooted(text, size))
	runtime.KeepAlive(smiles)
	if err != nil {
		return nil, err
	}
	var all []Rooted
	for i := 0; i+1 < len(lines); i += 2 {
		r := Rooted{SMILES: lines[i]}
		for _, label := range strings.Fields(lines[i+1]) {
			n, err := strconv.Atoi(label)
			if err != nil {
				return nil, err
			}
			r.Labels = append(r.Labels, n)
		}
		all = append(all, r)
	}
	return all, nil
}

// Slicer says which bonds to cut.
type Slicer int

// The slicers.
const (
	SliceNone      Slicer = C.RETORT_SLICE_NONE
	SliceBRICS     Slicer = C.RETORT_SLICE_BRICS
	SliceSingle    Slicer = C.RETORT_SLICE_SINGLE
	SliceRotatable Slicer = C.RETORT_SLICE_ROTATABLE
)

// CutFlags modify Cut.
type CutFlags uint32

// The flags of Cut.
const (
	DropStereo   CutFlags = C.RETORT_DROP_STEREO
	ShuffleAtoms CutFlags = C.RETORT_SHUFFLE_ATOMS
	FreeCuts     CutFlags = C.RETORT_FREE_CUTS // also where a cut loses stereo
)

// Piece is a fragment whose cut bonds end in dummies [n*], the two ends of a bond with the same n.
type Piece struct {
	Atoms  int // dummies included
	SMILES string
}

// Pieces is a molecule cut for SAFE.
type Pieces struct {
	SMILES string       // the molecule as cut
	Key    string       // equal for equal molecules; "" if there is no stereo to compare
	Open   map[int]bool // labels of dummies that are open positions, not cuts
	Found  int          // bonds the slicer found, before those that would harm stereo are left out
	All    []Piece
}

// Cut cuts a molecule into fragments.
func Cut(smiles string, slicer Slicer, flags CutFlags, seed uint64) (*Pieces, error) {
	text, size := chars(smiles)
	lines, err := fields(C.retort_cut(text, size, C.int32_t(slicer), C.uint32_t(flags), C.uint64_t(seed)))
	runtime.KeepAlive(smiles)
	if err != nil {
		return nil, err
	}
	if len(lines) < 5 {
		return nil, fmt.Errorf("rdkit: cut answered %q", lines)
	}
	p := &Pieces{SMILES: lines[0], Key: lines[1], Open: map[int]bool{}}
	for _, label := range strings.Fields(lines[2]) {
		n, _ := strconv.Atoi(label)
		p.Open[n] = true
	}
	p.Found, _ = strconv.Atoi(lines[3])
	for _, line := range lines[4:] {
		atoms, piece, _ := strings.Cut(line, " ")
		n, _ := strconv.Atoi(atoms)
		p.All = append(p.All, Piece{n, piece})
	}
	return p, nil
}

// Join reads a SAFE string all of whose numbers are paired. Dummies become hydrogen, or stay as
// [n*]. The key is equal for equal molecules whatever the labels.
func Join(smiles string, dropDummies bool) (canonical, key string, err error) {
	drop := C.int32_t(0)
	if dropDummies {
		drop = 1
	}
	text, size := chars(smiles)
	lines, err := fields(C.retort_join(text, size, drop))
	runtime.KeepAlive(smiles)
	if err != nil {
		return "", "", err
	}
	if len(lines) != 2 {
		return "", "", fmt.Errorf("rdkit: join answered %q", lines)
	}
	return lines[0], lines[1], nil
}
