package chem_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"retort/chem"
)

func TestQueries(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		fragment bool
		smiles   string
		want     bool
	}{
		{"C(=O)N", true, "CC(=O)NC", true},
		{"[1*]C(=O)N[2*]", true, "CC(=O)NC", true},
		{"C(=O)N", true, "CC(=O)OC", false},
		{"c1ccccc1", true, "C1CCCCC1", false},
		{"c1ccccc1.C#N", true, "N#Cc1ccccc1", true},
		{"[nH]1cccc1", true, "Cn1cccc1", true}, // hydrogens do not matter in a fragment
		{"C[N+](C)(C)C", true, "CN(C)C", false},
		{"[nH]", false, "Cn1cccc1", false},
		{"[#6]-;!@[#7;+]", false, "C[NH3+]", true},
		{"[$(c1ccccc1)]O", false, "Oc1ccccc1", true},
		{"[!#6;R]", false, "C1CCCCC1", false},
		{"C~*~*~N", false, "CCCN", true},
	} {
		search := smarts
		if c.fragment {
			search = fragment
		}
		if got, err := search(t, c.pattern, parse(t, c.smiles)); got != c.want || err != nil {
			t.Errorf("%s in %s: %v, error %v", c.pattern, c.smiles, got, err)
		}
	}
	for _, bad := range []string{"", "C(", "[r5]", "[D{2-3}]", strings.Repeat("C", 201)} {
		if _, err := smarts(t, bad, parse(t, "C")); err == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// TestLeavesOfPatterns has a pattern for each kind of leaf that the pattern compiler knows, and for each that it
// refuses. It fails with a version of RDKit that describes leaves differently.
func TestLeavesOfPatterns(t *testing.T) {
	for pattern, molecules := range map[string][2]string{ // one that matches, one that does not
		"C":       {"CC", "NN"},
		"[#6]":    {"c1ccccc1", "NN"},
		"[a]":     {"c1ccccc1", "CC"},
		"[A]":     {"CC", "c1ccccc1"},
		"[H3]":    {"CC", "C=C"},
		"[h2]":    {"CCC", "CC"},
		"[X4]":    {"CC", "C=C"},
		"[D3]":    {"CC(C)C", "CCC"},
		"[+]":     {"C[NH3+]", "CN"},
		"[-2]":    {"[O-2]", "[OH-]"},
		"[R2]":    {"C1CC2CC12", "C1CC1"},
		"[R]":     {"C1CC1", "CCC"},
		"[!R]":    {"CCC", "C1CC1"},
		"[13C]":   {"[13CH4]", "C"},
		"[v3]":    {"CN", "CC"},
		"*":       {"C", ""},
		"[C,N]":   {"CO", "OO"},
		"[#7;+]":  {"C[NH3+]", "CN"},
		"[$(CO)]": {"CO", "CN"},
		"C-C":     {"CC", "C=C"},
		"C=C":     {"C=C", "CC"},
		"C#C":     {"C#C", "CC"},
		"c:c":     {"c1ccccc1", "CC"},
		"c-c":     {"c1ccccc1-c1ccccc1", "c1ccccc1"},
		"C~C":     {"C=C", "CN"},
		"C@C":     {"C1CC1", "CC"},
		"C!@C":    {"CC", "C1CC1"},
		"C-,=C":   {"C=C", "C#C"},
		"C!-C":    {"C=C", "CC"},
		"CC":      {"CC", "C=C"},
		"cc":      {"c1ccccc1", "CC"},
	} {
		for i, smiles := range molecules {
			if smiles == "" {
				continue
			}
			if found, err := smarts(t, pattern, parse(t, smiles)); found != (i == 0) || err != nil {
				t.Errorf("%s in %s: %v, %v", pattern, smiles, found, err)
			}
		}
	}
	for _, unknown := range []string{"[r5]", "[x2]", "[^2]", "[z1]", "[D{2-3}]", "[D{2-}]", "[D{-2}]", "C->N"} {
		if _, err := smarts(t, unknown, parse(t, "C")); err == nil {
			t.Errorf("%s compiles, but the compiler should refuse such a leaf", unknown)
		}
	}
}

// A path through all atoms of a cage is hard to find. The search must give up in time.
func TestSearchGivesUp(t *testing.T) {
	cage := parse(t, "C12C3C4C1C5C2C3C45.C1C2CC3CC1CC(C2)C3.N"+strings.Repeat(".C1C2CC3CC1CC(C2)C3", 3))
	fullerene := parse(t, worst()["fullerene"])
	for _, m := range []*chem.Molecule{cage, fullerene} {
		if found, err := smarts(t, strings.Repeat("*~", 47)+"[#7]", m); found {
			t.Errorf("%v: found, error %v", m, err)
		}
	}
	path := strings.Repeat("c~", 59) + "[c;D2]"
	if found, err := smarts(t, path, fullerene); found || err != nil && !errors.Is(err, chem.ErrTooComplex) {
		t.Errorf("%v, error %v", found, err)
	}
	if found, err := fragment(t, strings.Repeat("c", 59)+"N", fullerene); found {
		t.Errorf("a fragment is found, error %v", err)
	}
}

// smarts searches a molecule for a SMARTS pattern.
func smarts(t *testing.T, pattern string, m *chem.Molecule) (bool, error) {
	t.Helper()
	panel, err := chem.NewPanel(chem.Measure{Kind: chem.Contains, About: pattern})
	if err != nil {
		return false, err
	}
	rows, err := panel.Measure(t.Context(), []*chem.Molecule{m})
	if err == nil && math.IsNaN(rows[0][0]) {
		err = chem.ErrTooComplex
	}
	return rows[0][0] == 1, err
}

// fragment searches a molecule for a SMILES fragment.
func fragment(t *testing.T, pattern string, m *chem.Molecule) (bool, error) {
	t.Helper()
	q, err := chem.FragmentQuery(pattern)
	if err != nil {
		return false, err
	}
	return q.In(m)
}
