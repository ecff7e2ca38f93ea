package masked

import (
	"encoding/json"
	"strings"
	"testing"

	"retort/chem"
)

// Molecules that fail a filter are in no part of the answer, and others are drawn in their place.
func TestFilters(t *testing.T) {
	h := start(t, Config{})
	const request = `{"num_molecules": 12, "seed": 3, "unique": true, "attempts": 10, "evaluated": true, "smi": %,
		"rounds": #, "scores": ["SA", "Brenk", "TPSA"],
		"filters": [{"name": "TPSA", "max": 125}, {"name": "SA", "max": 4}]}`
	for _, c := range []string{
		strings.NewReplacer("%", "[]", "#", "0").Replace(request),
		strings.NewReplacer("%", `["CCOc1ccccc1", "NCCc1ccccc1", "CCCCCC"]`, "#", "2").Replace(request),
	} {
		status, text := h.post(c)
		var answer struct {
			Molecules []struct {
				SMILES string
				Scores map[string]float64
			}
			Evaluated []struct{ SMILES string }
			LeftOut   struct {
				Molecules int
				Filters   []struct {
					Name      string
					Molecules int
				}
			} `json:"left_out"`
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 || len(answer.Molecules) < 2 {
			t.Fatalf("%d %s %v", status, text, err)
		}
		for _, m := range answer.Molecules {
			if m.Scores["TPSA"] > 125 || m.Scores["SA"] > 4 || len(m.Scores) != 3 {
				t.Errorf("%+v", m)
			}
		}
		for _, m := range answer.Evaluated {
			if molecule, err := chem.Parse(m.SMILES); err != nil || molecule.TPSA() > 125 || molecule.SA() > 4 {
				t.Errorf("%s was scored: %v", m.SMILES, err)
			}
		}
		left := answer.LeftOut
		sum := left.Filters[0].Molecules + left.Filters[1].Molecules
		if left.Filters[0].Name != "TPSA" || sum < left.Molecules || left.Molecules == 0 {
			t.Errorf("left out %+v", left)
		}
	}
}

func TestInvalidFiltersAndScores(t *testing.T) {
	h := start(t, Config{})
	for body, message := range map[string]string{
		`{"filters": [{"name": "SA"}]}`:                   "filters[0]",
		`{"filters": [{"name": "novelty", "min": 0.2}]}`:  "filters[0]",
		`{"filters": {"name": "SA", "max": 3}}`:           "filters",
		`{"scores": ["SA", "weight"]}`:                    "scores[1]",
		`{"scores": ["novelty"]}`:                         "scores[0]",
		`{"scores": "perhaps"}`:                           "scores",
		`{"objective": "novelty", "smiles": "[*{5-9}]"}`:  "objective",
		`{"filters": [{"name": "docking", "max": -3.2}]}`: "filters[0]",
	} {
		var answer Failure
		status, text := h.post(body)
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status < 400 || status >= 500 ||
			!strings.Contains(answer.Error, message) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}
