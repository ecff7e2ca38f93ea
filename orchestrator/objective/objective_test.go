package objective_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/wire"
)

func parse(t testing.TB, text string) objective.Spec {
	t.Helper()
	var spec objective.Spec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return spec
}

func open(t testing.TB, text string, oracles ...objective.Oracle) *objective.Objective {
	t.Helper()
	spec := parse(t, text)
	opened, err := spec.Open(oracles, nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return opened
}

func read(t testing.TB, facts chem.Facts, smiles ...string) []*chem.Molecule {
	t.Helper()
	results, err := chem.Evaluate(t.Context(), smiles, facts)
	if err != nil {
		t.Fatal(err)
	}
	molecules := make([]*chem.Molecule, len(results))
	for i, r := range results {
		if molecules[i] = r.Molecule; r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return molecules
}

// TestGoldenObjectives compares scores with Python RDKit: scripts/golden/objectives.py.
func TestGoldenObjectives(t *testing.T) {
	text, err := os.ReadFile("testdata/objectives.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		SMILES []string
		Cases  []struct {
			Name      string
			Objective json.RawMessage
			Values    []float64
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) < 20 || len(golden.SMILES) < 100 {
		t.Fatalf("%d objectives of %d molecules", len(golden.Cases), len(golden.SMILES))
	}
	for _, c := range golden.Cases {
		opened := open(t, string(c.Objective))
		scores, err := opened.Score(t.Context(), read(t, opened.Facts(), golden.SMILES...))
		if err != nil {
			t.Fatal(err)
		}
		for i, score := range scores {
			if !(math.Abs(score-c.Values[i]) <= 1e-9) {
				t.Errorf("%s of %s: %v, want %v", c.Name, golden.SMILES[i], score, c.Values[i])
			}
		}
	}
}

func TestInvalidObjectives(t *testing.T) {
	for _, c := range []struct{ text, path, message string }{
		{`7`, "", "valid string"},
		{`[]`, "", "1 to 16 terms"},
		{`["QED", 3]`, "[1]", "valid string"},
		{`["QED", {"name": "SA", "weight": 0}]`, "[1]", "weight should not be 0"},
		{`{"weight": 2}`, "", "needs a name"},
		{`{"name": "MW", "min": 3, "max": 2}`, "", "min 3 is above max 2"},
		{`{"name": "MW", "wieght": 1}`, "", "wieght"},
		{`{"combine": "product", "terms": ["QED"]}`, "combine", "combine is one of"},
		{
			`{"combine": "geometric_mean", "terms": ["QED", {"name": "SA", "weight": -1}]}`,
			"terms[1]", `"SA" has the weight -1`,
		},
		{
			`{"combine": "arithmetic_mean",
				"terms": [{"name": "QED", "weight": 1e308}, {"name": "SA", "weight": 1e308}]}`,
			"terms", "weights sum to",
		},
		{`{"terms": ["QED", {"name": "MW", "modifier": {"type": "gauss"}}]}`, "terms[1].modifier", "type is one of"},
		{`{"name": "MW", "modifier": {"type": "gaussian"}}`, "modifier", "sigma above 0"},
		{`{"name": "MW", "modifier": {"type": "clipped"}}`, "modifier", "upper"},
		{`{"name": "MW", "modifier": {"type": "threshold"}}`, "modifier", "threshold"},
		{`{"name": "MW", "modifier": {"type": "window"}}`, "modifier", "min, max or both"},
		{`{"name": "MW", "max": 3, "modifier": {"type": "linear"}}`, "", "modifier"},
		{`["QED", {"name": "MW", "weight": 1e-323}]`, "[1]", "weight 1e-323 is too small"},
		{`{"name": "MW", "modifier": {"type": "linear", "slope": 1e-323}}`, "modifier", "slope 1e-323 is too small"},
		{`{"name": "MW", "modifier": {"type": "linear", "slope": -1e300}}`, "modifier", "slope -1e+300 is too large"},
		{`{"name": "MW", "modifier": {"type": "gaussian", "sigma": 1e-320}}`, "modifier", "sigma 1e-320 is too small"},
		{
			`{"name": "MW", "modifier": {"type": "threshold", "threshold": 1e-320}}`,
			"modifier", "threshold 1e-320 is too small",
		},
		{
			`{"name": "MW", "modifier": {"type": "window", "min": 1, "unit": 1e-320}}`,
			"modifier", "unit 1e-320 is too small",
		},
		{
			`{"name": "MW", "modifier": {"type": "clipped", "upper": 1e-320}}`,
			"modifier", "upper - lower 1e-320 is too small",
		},
		{
			`{"name": "MW", "modifier": {"type": "clipped", "upper": 1, "high": 1e300}}`,
			"modifier", "high - low 1e+300 is too large",
		},
		{`{"name": "MW", "weight": 1e307}`, "", "weights are too large"},
		{`{"terms": [{"terms": [{"terms": [{"terms": ["QED"]}]}]}]}`, "terms[0].terms[0]", "at most 3 groups"},
		{`"solubility"`, "", "'QED', 'plogP'"},
		{`["QED", "solubility"]`, "[1]", "'QED', 'plogP'"},
		{`["QED", {"name": "substructure", "smarts": "[#6"}]`, "[1]", `"substructure": syntax error`},
		{`{"terms": ["QED", {"name": "similarity", "smiles": "CC("}]}`, "terms[1]", `"similarity": syntax error`},
		{`{"name": "similarity"}`, "", "1 molecules, not 0"},
		{`{"name": "similarity", "smiles": "CC", "fingerprint": "MACCS"}`, "", "fingerprint is one of"},
		{`{"name": "median", "smiles": ["CC", "CCC", "CCCC"]}`, "smiles", "2 molecules, not 3"},
		{`{"name": "scaffold", "smiles": ["CC", "CCC"]}`, "", "1 molecule, not 2"},
		{`{"name": "isomer", "formula": "water"}`, "", "formula"},
		{`{"name": "isomer", "formula": "` + strings.Repeat("C", 121) + `"}`, "", "at most 120 characters"},
		{`["QED", {"name": "isomer", "formula": "C7Xx2"}]`, "[1]", "no element"},
		{`{"name": "element_count", "element": "Q"}`, "", "no element"},
		{`{"name": "QED", "smarts": "C"}`, "", "smarts has no meaning"},
		{`{"name": "weigher", "output": "colour"}`, "", "output is one of [score mass]"},
	} {
		var spec objective.Spec
		path := ""
		message := ""
		var bad *wire.Mismatch
		err := json.Unmarshal([]byte(c.text), &spec)
		if errors.As(err, &bad) {
			path = (&fault.Error{Path: bad.Path}).Field()
			message = bad.Message
		} else if err == nil {
			_, err = spec.Open([]objective.Oracle{weigher{}}, nil, nil)
			if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
				path = f.Field()
				message = f.Message
			}
		}
		if path != c.path || !strings.Contains(message, c.message) {
			t.Errorf("%s: at %q %q (%v), want at %q %q", c.text, path, message, err, c.path, c.message)
		}
	}
	many := "[" + strings.Repeat(`"QED",`, 1<<20) + `"QED"]`
	err := json.Unmarshal([]byte(many), new(objective.Spec))
	if err == nil || !strings.Contains(err.Error(), "1048577") {
		t.Errorf("a million terms: %v", err)
	}
}

// weigher is an oracle with two outputs. It has no score for molecules heavier than 200, and returns err.
type weigher struct{ err error }

func (weigher) Name() string      { return "weigher" }
func (weigher) Outputs() []string { return []string{"score", "mass"} }
func (weigher) Unit() float64     { return 10 }
func (weigher) Facts() chem.Facts { return chem.FactFormula }

func (w weigher) Score(_ context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	rows := make([][]float64, len(molecules))
	for i, m := range molecules {
		rows[i] = []float64{m.Weight() / 100, m.Weight()}
		if m.Weight() > 200 {
			rows[i][0] = math.NaN()
		}
	}
	return rows, w.err
}

func TestOraclesAreTerms(t *testing.T) {
	opened := open(t, `[{"name": "weigher"}, {"name": "weigher", "output": "mass", "weight": 0.01},
		{"name": "LogP", "weight": 1e-9}]`, weigher{})
	if !opened.HasOracle() || opened.Unit() != 10 {
		t.Errorf("unit %v", opened.Unit())
	}
	scores, err := opened.Score(t.Context(), read(t, opened.Facts(), "CCO", "CCCCCCCCCCCCCCCCCCCCCC"))
	if err != nil || math.Abs(scores[0]-2*46.069/100) > 1e-6 || !math.IsNaN(scores[1]) {
		t.Errorf("%v %v", scores, err)
	}
	if err := opened.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	broken := weigher{fault.Wrap(fault.Unavailable, objective.ErrBroken, "out of paper")}
	failing := open(t, `{"combine": "geometric_mean", "terms": ["QED", "weigher"]}`, broken)
	f := fault.As(failing.Probe(t.Context()))
	if f == nil || f.Kind != fault.Invalid || f.Field() != "terms[1]" {
		t.Fatalf("%+v", f)
	}
	if !strings.Contains(f.Message, `"weigher": out of paper`) {
		t.Errorf("message %q", f.Message)
	}
	for _, kind := range []fault.Kind{fault.Unavailable, fault.Timeout} {
		away := open(t, `["QED", "weigher"]`, weigher{fault.New(kind, "no answer")})
		f := fault.As(away.Probe(t.Context()))
		if f == nil || f.Kind != kind || !strings.Contains(f.Message, `"weigher": no answer`) {
			t.Errorf("%v: %+v", kind, f)
		}
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]float64{
		`"QED"`:                        0.1,
		`{"name": "MW", "weight": -2}`: 100,
		`{"name": "MW", "max": 300}`:   0.1,
		`["MW", "QED"]`:                50,
		`{"name": "MW", "modifier": {"type": "linear", "slope": -0.1}}`:                 5,
		`{"combine": "arithmetic_mean", "terms": ["QED", {"name": "MW", "weight": 3}]}`: (0.1 + 150) / 4,
	} {
		if got := open(t, text).Unit(); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: unit %v, want %v", text, got, want)
		}
	}
}
