package rdkit

// #include "shim.h"
import "C"

import (
	"fmt"
	"strconv"
	"strings"
)

// Edited are the computed fields of the profiles that [Mutations] and [Crossovers] return.
const Edited = Canonical | Morgan

// Parent is a molecule prepared for changes. Any number of goroutines may use it until it is freed. It has some 15 kB
// that Go's garbage collector does not see.
type Parent struct{ c *C.retort_parent }

// NewParent prepares a molecule.
func NewParent(smiles string) (*Parent, error) {
	text, size := chars(smiles)
	var failure C.retort_answer
	c := C.retort_parent_new(text, size, &failure)
	if _, err := take(failure); err != nil {
		C.retort_parent_free(c) // NULL, unless only the answer could not be allocated
		return nil, err
	}
	return &Parent{c}, nil
}

// Free releases the memory.
func (p *Parent) Free() { C.retort_parent_free(p.c) }

// Mutations returns up to count molecules that differ from a molecule by one small random change: of its configuration
// if stereo, else of its graph.
func Mutations(p *Parent, count int, stereo bool, seed uint64) ([]Profile, error) {
	return edited(C.retort_mutations(p.c, C.int32_t(count), flag(stereo), C.uint64_t(seed)))
}

// Crossovers returns up to count molecules that combine a part of each parent.
func Crossovers(first, second *Parent, count int, seed uint64) ([]Profile, error) {
	return edited(C.retort_crossovers(first.c, second.c, C.int32_t(count), C.uint64_t(seed)))
}

// edited reads an answer that has two texts per molecule, its SMILES and its facts.
func edited(a C.retort_answer) ([]Profile, error) {
	texts, err := fields(a)
	if err != nil {
		return nil, err
	}
	profiles := make([]Profile, len(texts)/2)
	for i := range profiles {
		profiles[i].Canonical = texts[2*i]
		if err := profiles[i].readFacts(texts[2*i+1]); err != nil {
			return nil, err
		}
	}
	return profiles, nil
}

// readFacts sets the counts and the fingerprint from the facts that retort_mutations documents.
func (p *Profile) readFacts(facts string) error {
	words := strings.Fields(facts)
	counts := []*int{&p.HeavyAtoms, &p.Rings, &p.LargestRing, &p.Radicals}
	if len(words) != len(counts)+Words {
		return fmt.Errorf("rdkit: %d facts of a molecule, want %d", len(words), len(counts)+Words)
	}
	for i, count := range counts {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			return fmt.Errorf("rdkit: %w", err)
		}
		*count = n
	}
	for i, word := range words[len(counts):] {
		bits, err := strconv.ParseUint(word, 16, 64)
		if err != nil {
			return fmt.Errorf("rdkit: %w", err)
		}
		p.Morgan[i] = bits
	}
	return nil
}
