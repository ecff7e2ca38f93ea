package chem_test

import (
	"errors"
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
		make := chem.NewQuery
		if c.fragment {
			make = chem.FragmentQuery
		}
		q, err := make(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got, err := q.In(parse(t, c.smiles)); got != c.want || err != nil {
			t.Errorf("%s in %s: %v, %v", c.pattern, c.smiles, got, err)
		}
	}
	for _, bad := range []string{"", "C(", "[r5]", "[D{2-3}]", strings.Repeat("C", 201)} {
		if _, err := chem.NewQuery(bad); err == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// TestLeavesOfPatterns has a pattern for each kind of leaf that the pattern compiler knows, and for each that it refuses. It fails with a
// version of RDKit that describes leaves differently.
func TestLeavesOfPatterns(t *testing.T) {
	for pattern, molecules := range map[string][2]string{ // one that matches, one that does not
		"C": {"CC", "NN"}, "[#6]": {"c1ccccc1", "NN"}, "[a]": {"c1ccccc1", "CC"}, "[A]": {"CC", "c1ccccc1"}, "[H3]": {"CC", "C=C"},
		"[h2]": {"CCC", "CC"}, "[X4]": {"CC", "C=C"}, "[D3]": {"CC(C)C", "CCC"}, "[+]": {"C[NH3+]", "CN"}, "[-2]": {"[O-2]", "[OH-]"},
		"[R2]": {"C1CC2CC12", "C1CC1"}, "[R]": {"C1CC1", "CCC"}, "[!R]": {"CCC", "C1CC1"}, "[13C]": {"[13CH4]", "C"}, "[v3]": {"CN", "CC"},
		"*": {"C", ""}, "[C,N]": {"CO", "OO"}, "[#7;+]": {"C[NH3+]", "CN"}, "[$(CO)]": {"CO", "CN"}, "C-C": {"CC", "C=C"}, "C=C": {"C=C", "CC"},
		"C#C": {"C#C", "CC"}, "c:c": {"c1ccccc1", "CC"}, "c-c": {"c1ccccc1-c1ccccc1", "c1ccccc1"}, "C~C": {"C=C", "CN"}, "C@C": {"C1CC1", "CC"},
		"C!@C": {"CC", "C1CC1"}, "C-,=C": {"C=C", "C#C"}, "C!-C": {"C=C", "CC"}, "CC": {"CC", "C=C"}, "cc": {"c1ccccc1", "CC"},
	} {
		q, err := chem.NewQuery(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for i, smiles := range molecules {
			if smiles == "" {
				continue
			}
			if found, err := q.In(parse(t, smiles)); found != (i == 0) || err != nil {
				t.Errorf("%s in %s: %v, %v", pattern, smiles, found, err)
			}
		}
	}
	for _, unknown := range []string{"[r5]", "[x2]", "[^2]", "[z1]", "[D{2-3}]", "[D{2-}]", "[D{-2}]", "C->N"} {
		if _, err := chem.NewQuery(unknown); err == nil {
			t.Errorf("%s compiles, but the compiler should refuse such a leaf", unknown)
		}
	}
}

// A path through all atoms of a cage is hard to find; the search must give up in time.
func TestQueryGivesUp(t *testing.T) {
	q, err := chem.NewQuery(strings.Repeat("*~", 47) + "[#7]")
	if err != nil {
		t.Fatal(err)
	}
	cage := parse(t, "C12C3C4C1C5C2C3C45.C1C2CC3CC1CC(C2)C3.N"+strings.Repeat(".C1C2CC3CC1CC(C2)C3", 3))
	fullerene := parse(t, worst()["fullerene"])
	for _, m := range []*chem.Molecule{cage, fullerene} {
		if found, err := q.In(m); found {
			t.Errorf("%v, %v", found, err)
		}
	}
	any, err := chem.NewQuery(strings.Repeat("c~", 59) + "[c;D2]")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := any.In(fullerene); found || err != nil && !errors.Is(err, chem.ErrTooComplex) {
		t.Errorf("%v, %v", found, err)
	}
}
