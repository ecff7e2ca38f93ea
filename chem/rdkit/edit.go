package rdkit

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// Edited is what is wanted of edited molecules: their Profiles have this.
const Edited = Canonical | Morgan

// Mutations are up to count molecules that one small random change makes of a molecule; with stereo a change of its
// configuration alone.
func Mutations(smiles string, count int, stereo bool, seed uint64) ([]Profile, error) {
	kind := C.int32_t(0)
	if stereo {
		kind = 1
	}
	text, size := chars(smiles)
	defer runtime.KeepAlive(smiles)
	return edited(C.retort_mutations(text, size, C.int32_t(count), kind, C.uint64_t(seed)))
}

// Crossovers are up to count molecules made of a part of each of two.
func Crossovers(first, second string, count int, seed uint64) ([]Profile, error) {
	one, oneSize := chars(first)
	two, twoSize := chars(second)
	defer runtime.KeepAlive(first)
	defer runtime.KeepAlive(second)
	return edited(C.retort_crossovers(one, oneSize, two, twoSize, C.int32_t(count), C.uint64_t(seed)))
}

// edited reads an answer of any number of molecules, of each its SMILES and its facts.
func edited(a C.retort_answer) ([]Profile, error) {
	texts, err := some(a)
	if err != nil {
		return nil, err
	}
	profiles := make([]Profile, len(texts)/2)
	for i := range profiles {
		profiles[i].Canonical = texts[2*i]
		if err := profiles[i].read(texts[2*i+1]); err != nil {
			return nil, err
		}
	}
	return profiles, nil
}

// read takes the counts and the fingerprint out of facts as retort_mutations gives them.
func (p *Profile) read(facts string) error {
	words := strings.Fields(facts)
	counts := []*int{&p.HeavyAtoms, &p.Rings, &p.LargestRing, &p.Radicals}
	if len(words) != len(counts)+Words {
		return fmt.Errorf("rdkit: %d facts of a molecule in place of %d", len(words), len(counts)+Words)
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

// some splits an answer of any number of texts, of which none is empty.
func some(a C.retort_answer) ([]string, error) {
	texts, err := fields(a)
	if len(texts) == 1 && texts[0] == "" {
		return nil, err
	}
	return texts, err
}
