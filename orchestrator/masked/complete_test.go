package masked

import (
	"encoding/json"
	"strings"
	"testing"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// firstInput returns the first value of an input of a call.
func firstInput[T triton.Element](t *testing.T, call *triton.Request, name string) T {
	t.Helper()
	input, _ := tritontest.Input(call, name)
	values, err := triton.Values[T](input)
	if err != nil || len(values) == 0 {
		t.Fatalf("%s: %v (%v)", name, values, err)
	}
	return values[0]
}

// With version 2.0 of the interface noise is 1 by default, and step_size is ignored; with version 1.0 neither.
func TestVersionOfTheInterface(t *testing.T) {
	for version, want := range map[int]struct {
		noise    float32
		stepSize int64
	}{1: {0, 3}, 2: {1, 1}} {
		h := start(t, Config{GenMol: version})
		h.generate(`{"smiles":"[*{9-9}]","num_molecules":2,"step_size":"3"}`)
		call := h.triton.Calls()[0]
		if noise := firstInput[float32](t, call, "noise"); noise != want.noise {
			t.Errorf("version %d: noise is %v, want %v", version, noise, want.noise)
		}
		if size := firstInput[int64](t, call, "step_size"); size != want.stepSize {
			t.Errorf("version %d: step_size is %v, want %v", version, size, want.stepSize)
		}
		before := len(h.triton.Calls())
		h.generate(`{"smiles":"[*{9-9}]","num_molecules":2,"noise":"0.25"}`)
		if noise := firstInput[float32](t, h.triton.Calls()[before], "noise"); noise != 0.25 {
			t.Errorf("version %d: noise is %v, want that of the request", version, noise)
		}
		status, text := h.post(`{"step_size":11,"noise":3}`)
		const refusal = `"error":"noise: `
		if status != 400 || !strings.Contains(text, refusal) || !strings.Contains(text, "step_size: ") {
			t.Errorf("version %d: %d %s", version, status, text)
		}
		described := strings.Contains(string(h.service.OpenAPI()), "default: 1.0\n          description: Scale")
		if described != (version == 2) {
			t.Errorf("version %d: the description has another default of noise", version)
		}
	}
}

// With version 2.0 no molecule is missing, also if short masks have few distinct fillings.
func TestNoMoleculeIsMissing(t *testing.T) {
	const body = `{"smiles":"c1ccccc1.[*{1-2}]","num_molecules":40,"unique":true,"seed":1}`
	h := start(t, Config{GenMol: 2})
	template, err := parseTemplate("c1ccccc1.[*{1-2}]")
	if err != nil {
		t.Fatal(err)
	}
	distinct := map[string]bool{}
	for _, m := range h.generate(body) {
		distinct[m.SMILES] = true
		if !template.isIn(m.SMILES) {
			t.Errorf("%s lacks the given fragment", m.SMILES)
		}
	}
	if len(distinct) != 40 {
		t.Errorf("%d distinct molecules, want 40", len(distinct))
	}
	if first := start(t, Config{GenMol: 1}).generate(body); len(first) >= 40 {
		t.Errorf("version 1.0 has %d molecules too: this test shows nothing", len(first))
	}
}

// The limits of evaluated and of oracles know what version 2.0 may draw beyond the attempts.
func TestEvaluationsOfMissingMoleculesAreBounded(t *testing.T) {
	const body = `{"smiles":"c1ccccc1.[*{1-2}]","num_molecules":40,"attempts":1,"unique":true,"seed":1,"evaluated":true}`
	_, text := start(t, Config{GenMol: 2}).post(body)
	var answer Response
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err, text)
	}
	var r requestV2
	r.SetDefaults()
	r.NumMolecules, r.Attempts = 40, 1
	count, bound := len(answer.Evaluated), r.maxEvaluations()
	if count <= 40 || count > bound {
		t.Errorf("%d molecules are scored, want more than 40 and at most %d", count, bound)
	}
	if want := 40 + maxMissingPasses*40; bound != want {
		t.Errorf("the bound is %d, want %d", bound, want)
	}
}

// The model may add no carbocation; a given one is kept.
func TestCarbocations(t *testing.T) {
	for template, want := range map[string]map[string]bool{
		"[*]c1ccccc1": {
			"CC[CH3+]":       true,
			"CC[C@@H+]C":     true,
			"C[C+](C)(C)C":   true,
			"C=[13C+]=C":     true,
			"c1ccc[cH+]cc1":  true,
			"CC[NH3+]":       false,
			"C[Cl+]C":        false,
			"CCC":            false,
			"[Ca+2].[Cu+].C": false,
		},
		"[*]C[CH2+]": {"CC[CH2+]": false},
	} {
		parsed, err := parseTemplate(template)
		if err != nil {
			t.Fatal(err)
		}
		for smiles, adds := range want {
			if parsed.addsCarbocation(smiles) != adds {
				t.Errorf("%s, %s: want %t", template, smiles, adds)
			}
		}
	}
}
