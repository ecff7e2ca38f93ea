package search

import "testing"

func TestWhatASeedAdmits(t *testing.T) {
	for _, c := range []struct {
		seed, molecule string
		want           bool
	}{
		{"CCO", "CCN", true},
		{"CCO", "CC[O]", false},
		{"CCO", "[CH2]CO", false},
		{"CCO", "C[CH]CO", false},
		{"CC[O]", "[CH2]CO", true},
		{"CCO", "CC[O-].[Na+]", false},
		{"CC[O-].[Na+]", "CCC[O-].[Na+]", true},
		{"CC[O-].[Na+]", "Cl.CC[O-].[Na+]", false},
		{"CCO", "C[NH3+]", true},
		{"CCO", "C[C@H](N)C(=O)O", true},
		{"CCO", "c1cc[nH]c1", true},
		{"CCO", "C[N+](=O)[O-]", true},
		{"CCO", "[2H]CCO", true},
		{"CCO", "C[Si](C)(C)C", true},
	} {
		seed := Seed{SMILES: c.seed}
		if got := seed.admits(c.molecule); got != c.want {
			t.Errorf("%s admits %s: %v, want %v", c.seed, c.molecule, got, c.want)
		}
	}
}
