package synthesis_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"retort/chem/synthesis"
)

// The precursors are those of Python RDKit: scripts/golden/reactions.py.
func TestGolden(t *testing.T) {
	file, err := os.Open("testdata/precursors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	molecules := 0
	for lines.Scan() {
		var row []json.RawMessage
		var smiles string
		var want [][]string
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(row[0], &smiles); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(row[1], &want); err != nil {
			t.Fatal(err)
		}
		steps, err := synthesis.Disconnect(smiles)
		if err != nil {
			t.Errorf("%s: %v", smiles, err)
			continue
		}
		got := make([][]string, len(steps))
		for i, step := range steps {
			got[i] = slices.Concat([]string{step.Reaction}, step.Precursors)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", smiles, diff)
		}
		molecules++
	}
	if err := lines.Err(); err != nil || molecules < 200 {
		t.Errorf("%d molecules, %v", molecules, err)
	}
}
