package masked

import (
	"math/rand/v2"
	"strings"
	"testing"

	"retort/chem"
)

// TestNested wants the molecule back, stereo too, from whichever end it is
// written.
func TestNested(t *testing.T) {
	for _, smiles := range []string{
		"CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)N[C@@H](C)C(=O)OCC", `C/C=C/C(=O)N[C@H]1CC[C@@H](OC)C1`, "C[C@]1(OC)CCN(C(=O)/C=C\\c2ccco2)C1",
		"COc1ccc(OC)c2c1CN(Cc1ccccn1)C[C@@H]2O", "O=S(=O)(N[C@H](c1ccccc1)C1CC1)c1cn[nH]c1", "CC(C)[C@@H](NC(=O)c1ccc(Cl)cc1)[C@@H]1CCCO1", "CCOC(=O)[C@@H]1C[C@H]1NC(C)=O",
	} {
		molecule, err := chem.Parse(smiles)
		if err != nil {
			t.Fatal(err)
		}
		for _, slicer := range []chem.Slicer{chem.BRICS, chem.SingleBonds} {
			ends, err := chem.Ends(smiles, slicer)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range ends {
				var text string
				for _, s := range append(written(ends, i, nil), written(ends, e.Across, nil)...) {
					text += s.given
				}
				safe := numbered(text)
				got, err := chem.DecodeSAFE(safe, chem.DecodeOptions{Strict: true})
				if err != nil || got != molecule.SMILES() {
					t.Errorf("%s, slicer %d: %s, which is %s, reads %s (%v)", smiles, slicer, text, safe, got, err)
				}
			}
		}
	}
}

// TestNumbered reads what a model may write.
func TestNumbered(t *testing.T) {
	for nested, want := range map[string]string{
		"c1ccccc1":            "c1ccccc1",
		".c1ccc*cc1.N**.C.CC": "c<1>1ccc<2>cc1.N<2><3><4>.C<3>.C<4>C",
		".=C*.=C":             "C=<1><2>.C=<2>", // the first end is not taken
		".C.C.C":              "C<1>.C<1>.C<2>",
		".C..C":               "C<1>.<1>.C<2>",
		"C*.Cl":               "C<1>.Cl<1>",
		"":                    "",
		".":                   "<1>",
	} {
		if got := numbered(nested); got != want {
			t.Errorf("%q is %q, want %q", nested, got, want)
		}
	}
}

// TestNest wants gaps where the given fragments are open, and nowhere else.
func TestNest(t *testing.T) {
	for smiles, want := range map[string][]string{
		"*c1ccccc1":                   {".c1ccccc1 1"},
		"*c1ccc(*)cc1":                {".c1ccc*cc1 2"},
		"*c1ccccc1.*C(N)=O":           {".c1ccccc1 1 .C(N)=O", ".C(N)=O 1 .c1ccccc1"},
		"*c1ccccc1C(=O)N(C)C":         {".c1ccccc1*.C*=O.N(C)C 1"},
		"*C(=O)c1ccc(*)cc1":           {".c1ccc*cc1.C*=O 2", ".C*=O.c1ccc*cc1 2"},
		"*c1cc(*)cc(C(=O)N(*)*)c1":    {".N**.C*=O.c1cc*cc*c1 4", ".c1cc*cc*c1.C*=O.N** 4", ".N** 1 .C*=O.c1cc*cc*c1 3", ".c1cc*cc*c1 1 .C*=O.N** 3"},
		"*c1ccccc1.*C(N)=O.*C1CCNCC1": nil,
	} {
		ends, err := chem.Ends(smiles, chem.BRICS)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			var texts []string
			for _, s := range nest(ends, rand.New(rand.NewPCG(seed, 0))) {
				if s.given != "" {
					texts = append(texts, s.given)
				} else {
					texts = append(texts, string(rune('0'+s.least)))
				}
			}
			got := strings.Join(texts, " ")
			found := want == nil
			for _, w := range want {
				found = found || w == got
			}
			if !found {
				t.Errorf("%s: %s, want one of %q", smiles, got, want)
			}
			if want == nil && (len(texts) != 3 || strings.Count(texts[2], ".") != 2) {
				t.Errorf("%s: %s", smiles, got)
			}
		}
	}
}
