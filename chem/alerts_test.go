package chem_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"retort/chem"
)

// TestAlertsGolden compares the structural alerts of the golden molecules, and their numbers, with Python RDKit.
func TestAlertsGolden(t *testing.T) {
	file, err := os.Open("testdata/alerts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	panel, err := chem.NewPanel(chem.Measure{Kind: chem.PAINSAlerts}, chem.Measure{Kind: chem.BrenkAlerts})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	found := 0
	for lines := bufio.NewScanner(file); lines.Scan(); count++ {
		var golden struct {
			SMILES string
			Alerts []string
		}
		if err := json.Unmarshal(lines.Bytes(), &golden); err != nil {
			t.Fatal(err)
		}
		m := parse(t, golden.SMILES)
		alerts, err := m.Alerts()
		slices.Sort(alerts)
		slices.Sort(golden.Alerts)
		if err != nil || !slices.Equal(alerts, golden.Alerts) {
			t.Errorf("%s: %v %v, want %v", golden.SMILES, alerts, err, golden.Alerts)
		}
		pains := 0
		for _, alert := range golden.Alerts {
			if strings.HasPrefix(alert, "PAINS ") {
				pains++
			}
		}
		rows, err := panel.Measure(t.Context(), []*chem.Molecule{m})
		want := []float64{float64(pains), float64(len(golden.Alerts) - pains)}
		if err != nil || !slices.Equal(rows[0], want) {
			t.Errorf("%s: %v %v, want %v", golden.SMILES, rows, err, want)
		}
		found += len(golden.Alerts)
	}
	if count < 200 || found < 200 {
		t.Errorf("%d molecules with %d alerts", count, found)
	}
}
