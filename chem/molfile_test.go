package chem_test

import (
	"errors"
	"strings"
	"testing"

	"retort/chem"
)

func TestMolfileRoundTrip(t *testing.T) {
	for _, smiles := range []string{
		"CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "F/C=C/F", "F/C=C\\F", "[Na+].CC(=O)[O-]",
		"[13CH4]", "c1ccc2[nH]ccc2c1", "C[N+](C)(C)CC(=O)[O-]", "OC[C@H]1O[C@@H](O)[C@H](O)[C@@H](O)[C@@H]1O",
	} {
		given, err := chem.Parse(smiles)
		if err != nil {
			t.Fatal(err)
		}
		block, err := chem.SDRecord(given, "one of\nseveral")
		if err != nil {
			t.Fatal(err)
		}
		block, _ = strings.CutSuffix(block, "$$$$\n")
		if !strings.HasPrefix(block, "one of several\n") || !strings.HasSuffix(block, "M  END\n") {
			t.Errorf("%s:\n%s", smiles, block)
		}
		for _, text := range []string{block, strings.ReplaceAll(block, "\n", "\r\n")} {
			read, err := chem.ParseMolfile(text)
			if err != nil {
				t.Errorf("%s: %v", smiles, err)
			} else if read.SMILES() != given.SMILES() {
				t.Errorf("%s came back as %s", given.SMILES(), read.SMILES())
			}
		}
	}
}

func TestBadMolfilesAreRefused(t *testing.T) {
	methane, err := chem.Parse("C")
	if err != nil {
		t.Fatal(err)
	}
	good, err := chem.SDRecord(methane, "")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]error{
		"":                          chem.ErrMolfile,
		"CCO":                       chem.ErrMolfile,
		"\n\n\n x  0\n\n":           chem.ErrMolfile,
		good[:len(good)/2]:          chem.ErrMolfile,
		strings.Repeat("\n", 1<<20): chem.ErrTooLong,
		"\n\n\n999  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n":                        chem.ErrTooManyAtoms,
		"\n\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n":                        chem.ErrEmpty,
		"\n\n\n  0  0  0     0  0            999 V3000\nM  V30 COUNTS 1000000 0 0 0 0\n": chem.ErrTooManyAtoms,
	} {
		if read, err := chem.ParseMolfile(text); !errors.Is(err, want) {
			t.Errorf("%.60q: %v, %v, want %v", text, read, err, want)
		}
	}
}
