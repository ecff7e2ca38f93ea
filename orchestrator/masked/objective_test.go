package masked

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"retort/chem"
)

// Rounds start from given molecules, rank by the objective, keep the given fragments and list all exact scores.
func TestRoundsWithObjective(t *testing.T) {
	h := start(t, Config{})
	status, text := h.post(`{
		"smiles": "c1ccccc1[*{5-8}]", "num_molecules": 12, "rounds": 2, "seed": 3, "evaluated": true,
		"smi": ["CCOc1ccccc1", "CCCCC", "NCCc1ccccc1", "NCCc1ccccc1"],
		"objective": {"combine": "arithmetic_mean", "terms": [
			"QED", {"name": "TPSA", "modifier": {"type": "threshold", "threshold": 50}}]}}`)
	var answer Response
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 || len(answer.Molecules) == 0 {
		t.Fatalf("%d %s %v", status, text, err)
	}
	listed := map[string]float64{}
	for _, m := range answer.Evaluated {
		if _, ok := listed[m.SMILES]; ok {
			t.Errorf("%s is listed twice", m.SMILES)
		}
		listed[m.SMILES] = m.Score
		molecule, err := chem.Parse(m.SMILES)
		if err != nil || molecule.QEDProperties().AromaticRings == 0 {
			t.Errorf("%s: %v", m.SMILES, err)
			continue
		}
		if want := (molecule.QED() + min(molecule.TPSA(), 50)/50) / 2; m.Score-want > 1e-12 || want-m.Score > 1e-12 {
			t.Errorf("%s: %v, want %v", m.SMILES, m.Score, want)
		}
	}
	for _, warmStart := range []string{"CCOc1ccccc1", "NCCc1ccccc1"} {
		if listed[warmStart] == 0 {
			t.Errorf("%s was not scored", warmStart)
		}
	}
	if _, ok := listed["CCCCC"]; ok {
		t.Error("a molecule without the given fragment was scored")
	}
	best := slices.MaxFunc(answer.Evaluated, func(a, b Molecule) int { return cmp.Compare(a.Score, b.Score) })
	isSorted := slices.IsSortedFunc(answer.Molecules, func(a, b Molecule) int { return cmp.Compare(b.Score, a.Score) })
	if answer.Molecules[0] != best || !isSorted {
		t.Errorf("first %+v, best %+v of %+v", answer.Molecules[0], best, answer.Molecules)
	}
}

// A stream has exact scores of the objective, and ends with the same answer as a request without a stream.
func TestStreamWithObjective(t *testing.T) {
	h := start(t, Config{})
	const request = `{"num_molecules": 20, "rounds": 2, "seed": 5,
		"objective": {"combine": "geometric_mean", "terms": ["QED", {"name": "TPSA", "min": 40, "max": 60}]}`
	events := h.events(request + `, "stream": true}`)
	best := 0.0
	for _, text := range events[:len(events)-1] {
		var progress Progress
		if err := json.Unmarshal([]byte(text), &progress); err != nil || progress.Best != nil && *progress.Best < best {
			t.Fatalf("%s after %v: %v", text, best, err)
		}
		if progress.Best != nil {
			best = *progress.Best
		}
	}
	last := events[len(events)-1]
	var answer Response
	err := json.Unmarshal([]byte(last), &answer)
	if err != nil || len(answer.Molecules) == 0 || answer.Molecules[0].Score != best {
		t.Errorf("the best score of the stream is %v, its last event %s (%v)", best, last, err)
	}
	if want := h.generate(request + "}"); !slices.Equal(answer.Molecules, want) {
		t.Errorf("the stream ends with %v, want %v", answer.Molecules, want)
	}
}

func TestInvalidObjectives(t *testing.T) {
	h := start(t, Config{})
	for body, want := range map[string]string{
		`{"objective": "solubility"}`:                                                            "objective: Input should be 'QED', 'plogP'",
		`{"objective": ["QED", {"name": "substructure", "smarts": "[#6"}]}`:                      `objective[1]: Value error, the term "substructure"`,
		`{"objective": {"combine": "geometric_mean", "terms": [{"name": "QED", "weight": -1}]}}`: "objective.terms[0]",
		`{"smi": ["CCO"]}`:                    "smi: molecules to start from need rounds",
		`{"smi": ["CCO", "C("], "rounds": 1}`: "smi[1]: not a valid SMILES",
	} {
		status, text := h.post(body)
		var failure Failure
		_ = json.Unmarshal([]byte(text), &failure)
		if status != 400 || failure.Status != "failed" || !strings.HasPrefix(failure.Error, want) {
			t.Errorf("%s: %d %s, want %s", body, status, text, want)
		}
	}
}
