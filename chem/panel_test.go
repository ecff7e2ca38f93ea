package chem_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"retort/chem"
)

// measureKinds maps the names in scripts/golden/measures.py to kinds.
var measureKinds = map[string]chem.MeasureKind{
	"Morgan2Similarity": chem.Morgan2Similarity, "Morgan3Similarity": chem.Morgan3Similarity,
	"FeatureSimilarity": chem.FeatureSimilarity, "PairSimilarity": chem.PairSimilarity,
	"Contains": chem.Contains, "SameScaffold": chem.SameScaffold,
	"RingCount": chem.RingCount, "AromaticRingCount": chem.AromaticRingCount, "RotatableBonds": chem.RotatableBonds,
	"HydrogenDonors": chem.HydrogenDonors, "HydrogenAcceptors": chem.HydrogenAcceptors,
	"HeavyAtomCount": chem.HeavyAtomCount, "FractionSP3": chem.FractionSP3,
	"ElementCount": chem.ElementCount, "AtomCount": chem.AtomCount,
}

// TestPanelGolden compares all measures of the golden molecules with Python RDKit.
func TestPanelGolden(t *testing.T) {
	file, err := os.Open("testdata/measures.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	var names [][2]string
	lines.Scan()
	if err := json.Unmarshal(lines.Bytes(), &names); err != nil {
		t.Fatal(err)
	}
	measures := make([]chem.Measure, len(names))
	for i, name := range names {
		measures[i] = chem.Measure{Kind: measureKinds[name[0]], About: name[1]}
	}
	panel, err := chem.NewPanel(measures...)
	if err != nil {
		t.Fatal(err)
	}
	var molecules []*chem.Molecule
	var want [][]float64
	for lines.Scan() {
		var row struct {
			SMILES string
			Values []float64
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		molecules = append(molecules, parse(t, row.SMILES))
		want = append(want, row.Values)
	}
	rows, err := panel.Measure(t.Context(), molecules)
	if err != nil || len(rows) < 400 {
		t.Fatalf("%d molecules, %v", len(rows), err)
	}
	differ := 0
	for i, row := range rows {
		for k, value := range row {
			if !(math.Abs(value-want[i][k]) <= 1e-9) && differ < 20 {
				differ++
				t.Errorf("%v of %s: %v, want %v", names[k], molecules[i], value, want[i][k])
			}
		}
	}
}

func TestInvalidMeasuresAreNamed(t *testing.T) {
	var syntax *chem.SyntaxError
	for _, bad := range []chem.Measure{
		{Kind: chem.Morgan2Similarity, About: "CC("},
		{Kind: chem.Contains, About: "[#6"},
		{Kind: chem.SameScaffold, About: ""},
		{Kind: chem.ElementCount, About: "Xy"},
	} {
		_, err := chem.NewPanel(chem.Measure{Kind: chem.RingCount}, bad)
		var measure *chem.MeasureError
		if !errors.As(err, &measure) || measure.Index != 1 {
			t.Errorf("%+v: %v", bad, err)
		}
		if bad.Kind == chem.Contains && !errors.As(err, &syntax) {
			t.Errorf("%+v: %v is not a syntax error", bad, err)
		}
	}
}
