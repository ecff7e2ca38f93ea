package objective_test

import (
	"context"
	"testing"

	"retort/chem"
)

// druglike are molecules of typical sizes in searches.
var druglike = []string{
	"CC(C)Cc1ccc(C(C)C(=O)O)cc1", "CC(=O)Oc1ccccc1C(=O)O", "CN1CCC[C@H]1c1cccnc1",
	"O=C(C)N(CC)c1cccc(-c2ccnc3c(C#N)cnn23)c1",
	"CCOC(=O)C(CCC)NC(C)C(=O)N1C(C(=O)O)CC2CCCCC12", "Cc1ccc(-c2cc(C(F)(F)F)nn2-c2ccc(S(N)(=O)=O)cc2)cc1",
	"COc1ccccc1OCC(O)CN1CCN(CC(=O)Nc2c(C)cccc2C)CC1", "CC(C)(C)NCC(O)c1ccc(O)c(CO)c1",
}

// BenchmarkTerms reports the molecules per second for each kind of built-in term and for an objective of several terms.
// It includes parsing SMILES and the fingerprints that a search also needs.
func BenchmarkTerms(b *testing.B) {
	for _, c := range []struct{ name, spec string }{
		{"QED", `"QED"`}, {"plogP", `"plogP"`}, {"SA", `"SA"`}, {"LogP", `"LogP"`}, {"TPSA", `"TPSA"`}, {"MW", `"MW"`},
		{"similarity_ECFP4", `{"name": "similarity", "smiles": "CC(=O)Oc1ccccc1C(=O)O"}`},
		{"similarity_ECFP6", `{"name": "similarity", "smiles": "CC(=O)Oc1ccccc1C(=O)O", "fingerprint": "ECFP6"}`},
		{"similarity_FCFP4", `{"name": "similarity", "smiles": "CC(=O)Oc1ccccc1C(=O)O", "fingerprint": "FCFP4"}`},
		{"similarity_AP", `{"name": "similarity", "smiles": "CC(=O)Oc1ccccc1C(=O)O", "fingerprint": "AP"}`},
		{"median", `{"name": "median", "smiles": ["CC1(C)C2CCC1(C)C(=O)C2", "CC(C)C1CCC(C)CC1O"]}`},
		{"substructure", `{"name": "substructure", "smarts": "[#7]-c1ccc2ncsc2c1"}`},
		{"scaffold", `{"name": "scaffold", "smiles": "CC(=O)Oc1ccccc1C(=O)O"}`},
		{"isomer", `{"name": "isomer", "formula": "C19H17N3O2"}`},
		{"rotatable_bonds", `"rotatable_bonds"`},
		{"ranolazine_mpo", `{"combine": "geometric_mean", "terms": [
			{"name": "TPSA", "modifier": {"type": "max_gaussian", "mu": 95, "sigma": 20}},
			{"name": "LogP", "modifier": {"type": "max_gaussian", "mu": 7, "sigma": 1}},
			{"name": "similarity", "smiles": "COc1ccccc1OCC(O)CN2CCN(CC(=O)Nc3c(C)cccc3C)CC2", "fingerprint": "AP",
				"modifier": {"type": "clipped", "upper": 0.7}},
			{"name": "element_count", "element": "F", "modifier": {"type": "gaussian", "mu": 1, "sigma": 1}}]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			opened := open(b, c.spec)
			var batch []string
			for range 32 {
				batch = append(batch, druglike...)
			}
			for b.Loop() {
				options := opened.Facts() | chem.FactFingerprint
				results, err := chem.Evaluate(context.Background(), batch, options)
				if err != nil {
					b.Fatal(err)
				}
				molecules := make([]*chem.Molecule, len(results))
				for i, r := range results {
					molecules[i] = r.Molecule
				}
				if _, err := opened.Score(context.Background(), molecules); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "molecules/s")
		})
	}
}
