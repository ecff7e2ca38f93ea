package chem_test

import (
	"context"
	"strings"
	"testing"

	"retort/chem"
)

var drugs = strings.Fields(`
	CC(=O)Oc1ccccc1C(=O)O CN1CCC[C@H]1c1cccnc1 Cn1cnc2c1c(=O)n(C)c(=O)n2C CC(C)Cc1ccc(cc1)C(C)C(=O)O
	CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O CN(C)CCCN1c2ccccc2Sc2ccc(Cl)cc21
	OC(=O)c1cn(C2CC2)c2cc(N3CCNCC3)c(F)cc2c1=O COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1
	Cc1ccc(cc1Nc1nccc(n1)-c1cccnc1)NC(=O)c1ccc(cc1)CN1CCN(C)CC1 CNCCC(Oc1ccc(cc1)C(F)(F)F)c1ccccc1
	CCOC(=O)N1CCC(=C2c3ccc(Cl)cc3CCc3cccnc23)CC1 CCC(=O)N(c1ccccc1)C1CCN(CCc2ccccc2)CC1`)

// benchmarkBatch reports the molecules per second of a batch with these facts.
func benchmarkBatch(b *testing.B, facts chem.Facts) {
	if err := chem.Warm(); err != nil {
		b.Fatal(err)
	}
	batch := make([]string, 0, 50*len(drugs))
	for range 50 {
		batch = append(batch, drugs...)
	}
	for b.Loop() {
		if _, err := chem.Evaluate(context.Background(), batch, facts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "molecules/s")
}

func BenchmarkParse(b *testing.B)       { benchmarkBatch(b, 0) }
func BenchmarkQED(b *testing.B)         { benchmarkBatch(b, chem.FactQED) }
func BenchmarkSA(b *testing.B)          { benchmarkBatch(b, chem.FactSA) }
func BenchmarkFingerprint(b *testing.B) { benchmarkBatch(b, chem.FactFingerprint) }

const wholeSet = chem.FactQED | chem.FactLogP | chem.FactSA | chem.FactFingerprint

func BenchmarkWholeSet(b *testing.B) { benchmarkBatch(b, wholeSet) }

// benchmarkOffspring reports offspring per second of one pair of parents per call.
func benchmarkOffspring(b *testing.B, parents func(i int) chem.Parents) {
	count := 0
	for i := 0; b.Loop(); i++ {
		offspring, err := chem.Offspring(b.Context(), []chem.Parents{parents(i)})
		if err != nil {
			b.Fatal(err)
		}
		count += len(offspring[0])
	}
	b.ReportMetric(float64(count)/b.Elapsed().Seconds(), "offspring/s")
}

func BenchmarkMutations(b *testing.B) {
	benchmarkOffspring(b, func(i int) chem.Parents {
		return chem.Parents{First: drugs[i%len(drugs)], Count: 20, Seed: uint64(i)}
	})
}

func BenchmarkOneMutation(b *testing.B) {
	benchmarkOffspring(b, func(i int) chem.Parents {
		return chem.Parents{First: drugs[i%len(drugs)], Count: 1, Seed: uint64(i)}
	})
}

func BenchmarkCrossovers(b *testing.B) {
	benchmarkOffspring(b, func(i int) chem.Parents {
		return chem.Parents{First: drugs[i%len(drugs)], Second: drugs[(i+3)%len(drugs)], Count: 5, Seed: uint64(i)}
	})
}

func BenchmarkTanimoto(b *testing.B) {
	m, err := chem.Parse(drugs[0])
	if err != nil {
		b.Fatal(err)
	}
	f, g := m.Fingerprint(), m.Fingerprint()
	for b.Loop() {
		f.Tanimoto(&g)
	}
}

func BenchmarkDraw(b *testing.B) {
	m, err := chem.Parse(drugs[8])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := (chem.Depiction{}).Draw(m); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkMeasure reports molecules per second of one measure, with parsing.
func benchmarkMeasure(b *testing.B, kind chem.MeasureKind) {
	panel, err := chem.NewPanel(chem.Measure{Kind: kind})
	if err != nil {
		b.Fatal(err)
	}
	results, err := chem.Evaluate(b.Context(), drugs, chem.NoFacts)
	if err != nil {
		b.Fatal(err)
	}
	var batch []*chem.Molecule
	for range 10 {
		for _, r := range results {
			batch = append(batch, r.Molecule)
		}
	}
	if _, err := panel.Measure(b.Context(), batch[:1]); err != nil { // compiles the patterns
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := panel.Measure(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "molecules/s")
}

func BenchmarkPAINS(b *testing.B) { benchmarkMeasure(b, chem.PAINSAlerts) }
func BenchmarkBrenk(b *testing.B) { benchmarkMeasure(b, chem.BrenkAlerts) }
