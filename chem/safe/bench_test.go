package safe_test

import (
	"testing"

	"retort/chem/safe"
)

var drugs = []string{
	"CC(=O)Oc1ccccc1C(=O)O", "CN1CCC[C@H]1c1cccnc1", "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
	"CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O", "COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1",
	"Cc1ccc(cc1Nc1nccc(n1)-c1cccnc1)NC(=O)c1ccc(cc1)CN1CCN(C)CC1",
}

func BenchmarkEncode(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		if _, err := safe.Encode(drugs[i%len(drugs)], safe.EncodeOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		if _, err := safe.Decode("c15ccc6cc1.C6(C)C3=O.CC(C)C5.C14CC1.N34", safe.DecodeOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
