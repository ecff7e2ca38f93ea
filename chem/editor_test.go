package chem_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"retort/chem"
)

// An editor that keeps its parents gives the offspring that new editors give, also to many goroutines that share it and
// have more parents than it keeps.
func TestAnEditorGivesTheSameOffspring(t *testing.T) {
	molecules := corpus(t)[:120]
	var requests []chem.Parents
	for i, m := range molecules {
		next := molecules[(i+1)%len(molecules)]
		requests = append(requests,
			chem.Parents{First: m.SMILES(), Count: 3, Seed: uint64(i)},
			chem.Parents{First: m.SMILES(), Second: next.SMILES(), Count: 3, Seed: uint64(i)},
			chem.Parents{First: m.SMILES(), Second: m.SMILES(), Count: 2, Seed: uint64(i)},
			chem.Parents{First: m.SMILES(), Second: "no molecule", Count: 2, Seed: uint64(i)})
	}
	want, err := chem.Offspring(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(want, func(offspring []*chem.Molecule) bool { return len(offspring) > 0 }) {
		t.Fatal("no offspring")
	}
	var editor chem.Editor
	defer editor.Close()
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for range 2 {
				got, err := editor.Offspring(t.Context(), requests)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range requests {
					if !slices.Equal(texts(got[i]), texts(want[i])) {
						t.Errorf("%+v: %v, not %v", requests[i], texts(got[i]), texts(want[i]))
					}
				}
			}
		})
	}
	clients.Wait()
}

// texts returns the SMILES and fingerprints of molecules.
func texts(molecules []*chem.Molecule) (smiles []string) {
	for _, m := range molecules {
		smiles = append(smiles, fmt.Sprint(m.SMILES(), m.Fingerprint()))
	}
	return smiles
}
