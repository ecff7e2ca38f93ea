package safe_test

import (
	"testing"

	"retort/chem"
	"retort/chem/safe"
)

// TestNested checks that nested order keeps the molecule and its stereo, whichever end it starts from.
func TestNested(t *testing.T) {
	for _, smiles := range []string{
		"CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)N[C@@H](C)C(=O)OCC", "C/C=C/C(=O)N[C@H]1CC[C@@H](OC)C1",
		"C[C@]1(OC)CCN(C(=O)/C=C\\c2ccco2)C1", "COc1ccc(OC)c2c1CN(Cc1ccccn1)C[C@@H]2O",
		"O=S(=O)(N[C@H](c1ccccc1)C1CC1)c1cn[nH]c1", "CC(C)[C@@H](NC(=O)c1ccc(Cl)cc1)[C@@H]1CCCO1",
		"CCOC(=O)[C@@H]1C[C@H]1NC(C)=O",
	} {
		molecule, err := chem.Parse(smiles)
		if err != nil {
			t.Fatal(err)
		}
		for _, slicer := range []safe.Slicer{safe.BRICS, safe.SingleBonds} {
			ends, err := safe.Ends(smiles, slicer)
			if err != nil {
				t.Fatal(err)
			}
			for i := range ends {
				nested := nestedFrom(ends, i)
				brackets := safe.FromNested(nested)
				got, err := safe.Decode(brackets, safe.DecodeOptions{Strict: true})
				if err != nil || got != molecule.SMILES() {
					t.Errorf("%s, slicer %d: %s becomes %s, which decodes to %s (error %v)",
						smiles, slicer, nested, brackets, got, err)
				}
			}
		}
	}
}
