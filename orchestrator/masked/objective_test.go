package masked

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"retort/chem"
)

// An objective ranks in place of scoring, rounds go on from given molecules, given fragments stay, and everything that
// was scored is listed with all its digits.
func TestRoundsForAnObjective(t *testing.T) {
	h := start(t, Config{})
	status, text := h.post(`{"smiles": "c1ccccc1[*{5-8}]", "num_molecules": 12, "rounds": 2, "seed": 3, "evaluated": true,
		"smi": ["CCOc1ccccc1", "CCCCC", "NCCc1ccccc1", "NCCc1ccccc1"],
		"objective": {"combine": "arithmetic_mean", "terms": ["QED", {"name": "TPSA", "modifier": {"type": "threshold", "threshold": 50}}]}}`)
	var answer Response
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 || len(answer.Molecules) == 0 {
		t.Fatalf("%d %s %v", status, text, err)
	}
	listed := map[string]float64{}
	for _, m := range answer.Evaluated {
		if _, twice := listed[m.SMILES]; twice {
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
	for _, start := range []string{"CCOc1ccccc1", "NCCc1ccccc1"} {
		if listed[start] == 0 {
			t.Errorf("%s was not scored", start)
		}
	}
	if _, there := listed["CCCCC"]; there {
		t.Error("a molecule without the given fragment was a start")
	}
	best := slices.MaxFunc(answer.Evaluated, func(a, b Molecule) int { return cmp.Compare(a.Score, b.Score) })
	if answer.Molecules[0] != best || !slices.IsSortedFunc(answer.Molecules, func(a, b Molecule) int { return int(1e9 * (b.Score - a.Score)) }) {
		t.Errorf("first %+v, best %+v", answer.Molecules[0], best)
	}
}

// A stream shows scores of the objective with all their digits, and ends with the answer that comes without one.
func TestAStreamOfAnObjective(t *testing.T) {
	h := start(t, Config{})
	const request = `{"num_molecules": 20, "rounds": 2, "seed": 5, "objective": {"combine": "geometric_mean", "terms": ["QED", {"name": "TPSA", "min": 40, "max": 60}]}`
	events := h.events(request + `, "stream": true}`)
	best := 0.0
	for _, text := range events[:len(events)-1] {
		var now Progress
		if err := json.Unmarshal([]byte(text), &now); err != nil || now.Best != nil && *now.Best < best {
			t.Fatalf("%s after %v: %v", text, best, err)
		}
		if now.Best != nil {
			best = *now.Best
		}
	}
	var last Response
	if err := json.Unmarshal([]byte(events[len(events)-1]), &last); err != nil || len(last.Molecules) == 0 || last.Molecules[0].Score != best {
		t.Errorf("the best of the stream is %v, its end %s (%v)", best, events[len(events)-1], err)
	}
	if whole := h.generate(request + "}"); !slices.Equal(whole, last.Molecules) {
		t.Errorf("without a stream %v, with one %v", whole, last.Molecules)
	}
}

func TestBadObjectivesAreRefusedWithTheirTerm(t *testing.T) {
	h := start(t, Config{})
	for body, says := range map[string]string{
		`{"objective": "solubility"}`:                                                            "objective: Input should be 'QED', 'plogP'",
		`{"objective": ["QED", {"name": "substructure", "smarts": "[#6"}]}`:                      "objective[1]: Value error, the term \"substructure\"",
		`{"objective": {"combine": "geometric_mean", "terms": [{"name": "QED", "weight": -1}]}}`: "objective.terms[0]",
		`{"smi": ["CCO"]}`:                    "smi: molecules to start from need rounds",
		`{"smi": ["CCO", "C("], "rounds": 1}`: "smi[1]: not a valid SMILES",
	} {
		status, text := h.post(body)
		var failure Failure
		_ = json.Unmarshal([]byte(text), &failure)
		if says != "" && (status != 400 || failure.Status != "failed" || !strings.HasPrefix(failure.Error, says)) {
			t.Errorf("%s: %d %s, want %s", body, status, text, says)
		}
	}
}
