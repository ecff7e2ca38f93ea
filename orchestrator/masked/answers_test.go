package masked

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestBadRequests wants the documented form, and every problem named.
func TestBadRequests(t *testing.T) {
	h := start(t, Config{})
	for body, want := range map[string][]string{
		``:                                       {"body is empty"},
		`{`:                                      {"JSON decode error"},
		`[1]`:                                    {"object"},
		`{"smiles":"[*{9-3}]"}`:                  {"smiles: character 1: ", "above its most"},
		`{"smiles":"nonsense!"}`:                 {"smiles: ", "not SMILES or SAFE"},
		`{"smiles":"CC.[*{5-900}]"}`:             {"smiles: ", "up to 900", "126 tokens"},
		`{"smiles":"CC.[*{5-5000}]"}`:            {"at most 1000"},
		`{"smiles":5}`:                           {"smiles: ", "valid string"},
		`{"smiles":"[Se]C[*].[*{5-5}]"}`:         {"smiles: ", "does not know", "[Se]"},
		`{"smiles":"[Na+].CC.[*{5-5}]"}`:         {"smiles: ", "[Na+]", "no position"},
		`{"num_molecules":0}`:                    {"num_molecules: ", "greater than or equal to 1", "got 0"},
		`{"num_molecules":"1001"}`:               {"num_molecules: ", "less than or equal to 1000"},
		`{"num_molecules":"twenty"}`:             {"num_molecules: ", "unable to parse string as an integer", `got "twenty"`},
		`{"temperature":"hot","noise":2.5}`:      {"temperature: ", `got "hot"`, "noise: ", "less than or equal to 2"},
		`{"smiles":"C.[*{4-2}]","step_size":11}`: {"smiles: ", "above its most", "step_size: ", "less than or equal to 10"},
		`{"num_molecules":"many","smiles":"xx","gamma":2}`: {"num_molecules: ", "smiles: ", "gamma: "},
		`{"temperature":0.001,"min_add_len":0}`:            {"temperature: ", "min_add_len: "},
		`{"scoring":"SA"}`:                                 {"scoring: ", "'QED' or 'LogP'"},
		`{"unique":"perhaps"}`:                             {"unique: ", "boolean"},
		`{"rounds":51,"attempts":0,"seed":"x"}`:            {"rounds: ", "attempts: ", "seed: "},
		`{"num_molecules":1.5}`:                            {"num_molecules: ", "fractional part"},
	} {
		status, text := h.post(body)
		var answer Failure
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&answer); err != nil || status != 400 || answer.Status != "failed" {
			t.Errorf("%s: %d %s (%v)", body, status, text, err)
		}
		for _, part := range want {
			if !strings.Contains(answer.Error, part) {
				t.Errorf("%s: %q lacks %q", body, answer.Error, part)
			}
		}
	}
}

// TestOtherAnswers are those of the remaining endpoints and failures.
func TestOtherAnswers(t *testing.T) {
	h, bare := start(t, Config{}), start(t, Config{ReadyBody: "true"})
	check := func(what string, status, wantStatus int, text, want string) {
		t.Helper()
		if status != wantStatus || text != want {
			t.Errorf("%s: %d %s, want %d %s", what, status, text, wantStatus, want)
		}
	}
	status, text := h.get("/v1/health/ready")
	check("ready", status, 200, text, `{"status":"ready"}`)
	status, text = bare.get("/v1/health/ready")
	check("ready, bare", status, 200, text, `true`)
	status, text = h.get("/v1/models")
	check("models", status, 200, text, `{"available_models":["retort/toy-v1"]}`)
	status, text = h.get("/generate")
	check("a wrong method", status, 405, text, `{"status":"failed","error":"Method Not Allowed"}`)
	status, text = h.get("/nothing")
	check("no route", status, 404, text, `{"status":"failed","error":"Not Found"}`)
	status, text = h.post(`{"smiles":"` + strings.Repeat("C", 1<<17) + `"}`)
	check("a large body", status, 413, text, `{"status":"failed","error":"The request body is larger than the limit of 65536 bytes."}`)
	if status, text = h.get("/docs"); status != 200 || !strings.Contains(text, "Masked-template molecules") {
		t.Errorf("docs: %d %.200s", status, text)
	}
	h.triton.Unload("toy")
	for range 100 {
		if h.service.Ready() != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	status, text = h.post(`{}`)
	check("no model", status, 503, text, `{"status":"failed","error":"Service is not ready: no model of this API is loaded."}`)
	status, text = h.get("/v1/health/ready")
	check("no model, ready", status, 503, text, `{"status":"failed","error":"Service is not ready: no model of this API is loaded."}`)
}
