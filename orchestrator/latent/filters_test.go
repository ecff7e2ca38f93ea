package latent

import (
	"encoding/json"
	"strings"
	"testing"

	"retort/orchestrator/objective"
)

// filteredAnswer is an answer with filters and scores.
type filteredAnswer struct {
	Generated []scoredMolecule   `json:"generated"`
	Evaluated []scoredMolecule   `json:"evaluated"`
	LeftOut   *objective.LeftOut `json:"left_out"`
}

type scoredMolecule struct {
	Smiles     string             `json:"smiles"`
	Score      float64            `json:"score"`
	Similarity float64            `json:"similarity"`
	Scores     map[string]float64 `json:"scores"`
	Alerts     []string           `json:"alerts"`
}

// Molecules that fail a filter are neither results nor among the evaluated ones, and are counted. The seed may fail.
func TestFilters(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	weight := parse(t, plain).Weight()
	for _, algorithm := range []string{"CMA-ES", "none"} {
		request := body{
			"smi": plain, "algorithm": algorithm, "min_similarity": 0, "num_molecules": 5, "iterations": 15, "seed": 3,
			"evaluated": true, "scores": []string{"MW", "rings", "PAINS"},
			"filters": []body{{"name": "MW", "min": weight + 5}, {"name": "rings", "max": 2}},
		}
		answer := ask[filteredAnswer](r, "/generate", request)
		if len(answer.Generated) < 3 || answer.LeftOut.Molecules == 0 || answer.LeftOut.Filters[0].Name != "MW" {
			t.Errorf("%s: %+v", algorithm, answer)
		}
		for _, m := range answer.Generated {
			if m.Scores["MW"] < weight+5 || m.Scores["rings"] > 2 || len(m.Scores) != 3 {
				t.Errorf("%s: %+v", algorithm, m)
			}
		}
		for _, m := range answer.Evaluated {
			if w := parse(t, m.Smiles).Weight(); w < weight+5 {
				t.Errorf("%s: evaluated %s of weight %v", algorithm, m.Smiles, w)
			}
		}
		request["filters"] = []body{{"name": "MW", "max": 10}}
		delete(request, "evaluated")
		none := ask[filteredAnswer](r, "/generate", request)
		left := none.LeftOut
		if len(none.Generated) > 0 || left.Molecules == 0 || left.Filters[0].Molecules != left.Molecules {
			t.Errorf("%s with a filter that nothing passes: %+v", algorithm, none)
		}
	}
}

// Without filters and scores an answer has no new members.
func TestAnswerWithoutFilters(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	_, text := r.post("/generate", `{"smi": "`+plain+`", "iterations": 2, "seed": 1, "include_scores": true, "filters": []}`)
	var members map[string]any
	if err := json.Unmarshal([]byte(text), &members); err != nil || len(members) != 1 || strings.Contains(text, "scores") {
		t.Errorf("%s %v", text, err)
	}
}

func TestInvalidFiltersAndScores(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	for text, path := range map[string]string{
		`"filters": [{"name": "SA"}]`:                                          `["body","filters",0]`,
		`"filters": [{"name": "MW", "max": 1}, {"name": "novelty", "min": 0}]`: `["body","filters",1]`,
		`"filters": {"SA": 3}`:                                                 `["body","filters"]`,
		`"scores": ["SA", "similarity"]`:                                       `["body","scores",1]`,
		`"scores": ["novelty"]`:                                                `["body","scores",0]`,
		`"scores": true`:                                                       `["body","scores"]`,
		`"objective": "novelty"`:                                               `["body","objective"]`,
	} {
		status, answer := r.post("/generate", `{"smi": "`+plain+`", `+text+`}`)
		if status != 422 || !strings.Contains(answer, `"loc":`+path) {
			t.Errorf("%s: %d %s", text, status, answer)
		}
	}
}
