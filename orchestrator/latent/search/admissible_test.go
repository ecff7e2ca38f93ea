package search

import (
	"testing"

	"retort/chem"
)

func TestAdmits(t *testing.T) {
	for _, c := range []struct {
		seed, molecule string
		want           bool
	}{
		{"CCO", "CCN", true},
		{"CCO", "CC[O]", false},
		{"CCO", "[CH2]CO", false},
		{"CCO", "CC[P]", false},
		{"CCO", "CC[N-]", false},
		{"CCO", "CN[NH+]C", false},
		{"CC[O]", "CCC[O]", true},
		{"CCO", "CC[O-].[Na+]", false},
		{"CC[O-].[Na+]", "CCC[O-].[Na+]", true},
		{"CC[O-].[Na+]", "Cl.CC[O-].[Na+]", false},
		{"CCO", "C[Mg+2]CO", false},
		{"CCO", "C[C+](C)C", false},
		{"CCO", "C[Si-](C)C", false},
		{"CCO", "[2H]CCO", false},
		{"[2H]CCO", "[2H]CCCO", true},
		{"CCO", "C[NH3+]", true},
		{"CCO", "C[C@H](N)C(=O)O", true},
		{"CCO", "C[S@](=O)CC", true},
		{"CCO", "c1cc[nH]c1", true},
		{"CCO", "C[n+]1ccccc1", true},
		{"CCO", "CN=[N+]=[N-]", true},
		{"CCO", "C[N+](=O)[O-]", true},
		{"CCO", "C[Si](C)(C)C", true},
		{"CCO", "C[PH](=O)O", true},
	} {
		seed := read(t, c.seed)
		molecule := read(t, c.molecule)
		if got := (&Seed{SMILES: seed.SMILES(), Radicals: seed.Radicals()}).admits(molecule); got != c.want {
			t.Errorf("%s admits %s: %v, want %v", c.seed, c.molecule, got, c.want)
		}
	}
}

func read(t *testing.T, text string) *chem.Molecule {
	t.Helper()
	results, err := chem.Evaluate(t.Context(), []string{text}, chem.NoFacts)
	if err != nil || results[0].Err != nil {
		t.Fatalf("%s: %v %v", text, err, results[0].Err)
	}
	return results[0].Molecule
}
