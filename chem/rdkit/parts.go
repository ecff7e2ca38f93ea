package rdkit

// #include "shim.h"
import "C"

import (
	"fmt"
	"strconv"
	"strings"
)

// Largest returns the canonical SMILES of the largest component.
func Largest(smiles string) (string, error) {
	text, size := chars(smiles)
	return take(C.retort_largest(text, size))
}

// Open adds dummies to up to count random atoms that have a hydrogen.
func Open(smiles string, count int, seed uint64) (string, error) {
	text, size := chars(smiles)
	return take(C.retort_open(text, size, C.int32_t(count), C.uint64_t(seed)))
}

// Halves cuts up to count random acyclic single bonds, one at a time. It returns "[1*]A.[1*]B" for each bond.
func Halves(smiles string, count int, seed uint64) ([]string, error) {
	text, size := chars(smiles)
	return fields(C.retort_halves(text, size, C.int32_t(count), C.uint64_t(seed)))
}

// Rooted is a fragment written from one of its dummies.
type Rooted struct {
	SMILES string // starts with that dummy; its dummies have no labels
	Labels []int  // of the dummies, in the order of SMILES
}

// RootedAll writes a fragment from each of its dummies.
func RootedAll(smiles string) ([]Rooted, error) {
	text, size := chars(smiles)
	lines, err := fields(C.retort_rooted(text, size))
	if err != nil {
		return nil, err
	}
	var all []Rooted
	for i := 0; i+1 < len(lines); i += 2 {
		labels, err := numbers(lines[i+1])
		if err != nil {
			return nil, err
		}
		all = append(all, Rooted{SMILES: lines[i], Labels: labels})
	}
	return all, nil
}

// Slicer says which bonds [Cut] cuts.
type Slicer int

// The slicers.
const (
	SliceNone   Slicer = C.RETORT_SLICE_NONE
	SliceBRICS  Slicer = C.RETORT_SLICE_BRICS
	SliceSingle Slicer = C.RETORT_SLICE_SINGLE
)

// Piece is a fragment whose cut bonds end in dummies [n*]. Both ends of a bond have the same n.
type Piece struct {
	Atoms  int // dummies included
	SMILES string
}

// Pieces is a molecule cut for SAFE.
type Pieces struct {
	SMILES string       // canonical, of the molecule
	Key    string       // equal for equal molecules; "" without stereo
	Open   map[int]bool // labels of dummies that are open positions, not cuts
	All    []Piece
}

// Cut cuts a molecule into fragments, except at bonds whose cut would lose stereo.
func Cut(smiles string, slicer Slicer) (*Pieces, error) {
	text, size := chars(smiles)
	lines, err := fields(C.retort_cut(text, size, C.int32_t(slicer)))
	if err != nil {
		return nil, err
	}
	if len(lines) < 4 {
		return nil, fmt.Errorf("rdkit: cut returned %q", lines)
	}
	open, err := numbers(lines[2])
	if err != nil {
		return nil, err
	}
	p := &Pieces{SMILES: lines[0], Key: lines[1], Open: map[int]bool{}}
	for _, label := range open {
		p.Open[label] = true
	}
	for _, line := range lines[3:] {
		atoms, piece, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(atoms)
		if err != nil {
			return nil, fmt.Errorf("rdkit: %w", err)
		}
		p.All = append(p.All, Piece{n, piece})
	}
	return p, nil
}

// Join reads a SAFE string without unpaired numbers. Dummies become hydrogen if dropDummies, otherwise [n*]. Keys are
// equal for equal molecules, whatever the labels of their dummies.
func Join(smiles string, dropDummies bool) (canonical, key string, err error) {
	text, size := chars(smiles)
	lines, err := fields(C.retort_join(text, size, flag(dropDummies)))
	if err != nil {
		return "", "", err
	}
	if len(lines) != 2 {
		return "", "", fmt.Errorf("rdkit: join returned %q", lines)
	}
	return lines[0], lines[1], nil
}

// numbers reads integers that are separated by spaces.
func numbers(text string) ([]int, error) {
	words := strings.Fields(text)
	all := make([]int, len(words))
	for i, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("rdkit: %w", err)
		}
		all[i] = n
	}
	return all, nil
}
