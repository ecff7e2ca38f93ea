package objective_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/wire"
)

const (
	aspirin   = "CC(=O)Oc1ccccc1C(=O)O"
	rhodanine = "O=C1NC(=S)SC1=Cc1ccccc1" // 1 alert of PAINS, 2 of Brenk
	catechol  = "Oc1ccccc1O"              // 1 alert of PAINS, 1 of Brenk
)

func TestFilters(t *testing.T) {
	var filters objective.Filters
	text := `[{"name": "MW", "max": 200}, {"name": "PAINS", "max": 0},
		{"name": "substructure", "smarts": "[OX2H]", "min": 1}, {"name": "novelty", "min": 0.1, "max": 0.9}]`
	if err := json.Unmarshal([]byte(text), &filters); err != nil {
		t.Fatal(err)
	}
	known := read(t, chem.FactFingerprint, "Oc1ccccc1C(=O)O")
	sample := chem.NewSample([]chem.Fingerprint{known[0].Fingerprint()}, 1)
	filter, err := filters.Open(nil, sample, nil)
	if err != nil {
		t.Fatal(err)
	}
	molecules := read(t, filter.Facts(), aspirin, rhodanine, catechol, "Oc1ccccc1C(=O)O", "CCCCCCCCCCCCCCCCCCCCCCCCC")
	excess, err := filter.Excess(t.Context(), molecules)
	if err != nil {
		t.Fatal(err)
	}
	distance := func(m *chem.Molecule) float64 {
		fingerprint := m.Fingerprint()
		return sample.Distance(&fingerprint)
	}
	want := []float64{
		0,
		(molecules[1].Weight()-200)/50 + 1 + 10 + max(0, distance(molecules[1])-0.9)/0.1,
		1 + max(0, distance(molecules[2])-0.9)/0.1,
		1,
		(molecules[4].Weight()-200)/50 + 10 + (distance(molecules[4])-0.9)/0.1,
	}
	for i, e := range excess {
		if math.Abs(e-want[i]) > 1e-9 {
			t.Errorf("%s: %v, want %v", molecules[i], e, want[i])
		}
	}
	left := filter.LeftOut()
	counts := []int{}
	for _, f := range left.Filters {
		counts = append(counts, f.Molecules)
	}
	if left.Molecules != 4 || !slices.Equal(counts[:3], []int{2, 2, 2}) || counts[3] < 2 {
		t.Errorf("left out %+v", left)
	}
	if text, err := json.Marshal(left); err != nil || !strings.HasPrefix(string(text),
		`{"molecules":4,"filters":[{"name":"MW","molecules":2},{"name":"PAINS","molecules":2}`) {
		t.Errorf("%s %v", text, err)
	}
}

// A molecule without a value fails.
func TestFilterOfAMissingValue(t *testing.T) {
	var filters objective.Filters
	if err := json.Unmarshal([]byte(`[{"name": "weigher", "min": -1e9}]`), &filters); err != nil {
		t.Fatal(err)
	}
	filter, err := filters.Open([]objective.Oracle{weigher{}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	excess, err := filter.Excess(t.Context(), read(t, filter.Facts(), "CCO", "CCCCCCCCCCCCCCCCCCCCCC"))
	if err != nil || excess[0] != 0 || !math.IsInf(excess[1], 1) || filter.LeftOut().Molecules != 1 {
		t.Errorf("%v %v", excess, err)
	}
	failing, err := filters.Open([]objective.Oracle{weigher{fault.New(fault.Unavailable, "out of paper")}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = failing.Excess(t.Context(), read(t, filter.Facts(), "CCO"))
	if failure, ok := errors.AsType[*objective.Failure](err); !ok || failure.Name != "weigher" {
		t.Errorf("%v", err)
	}
}

func TestNoFilters(t *testing.T) {
	for _, text := range []string{`null`, `[]`} {
		var filters objective.Filters
		if err := json.Unmarshal([]byte(text), &filters); err != nil {
			t.Fatal(err)
		}
		filter, err := filters.Open(nil, nil, nil)
		if filter != nil || err != nil || filter.LeftOut() != nil || filter.Facts() != chem.NoFacts {
			t.Errorf("%s: %v %v", text, filter, err)
		}
	}
}

func TestInvalidFilters(t *testing.T) {
	for _, c := range []struct{ text, path, message string }{
		{`"SA"`, "", "list"},
		{`{"name": "SA", "max": 4}`, "", "list"},
		{`["SA"]`, "[0]", "needs a bound"},
		{`[{"name": "SA", "max": 4}, {"name": "SA"}]`, "[1]", "needs a bound"},
		{`[{"name": "SA", "max": 4, "weight": 2}]`, "[0]", "no weight"},
		{`[{"terms": ["SA"], "max": 4}]`, "[0]", "not a group"},
		{`[{"name": "SA", "max": 4, "modifier": {"type": "linear"}}]`, "[0]", "modifier"},
		{`[{"name": "SA", "max": "4"}]`, "[0].max", "number"},
		{`[{"name": "SA", "maximum": 4}]`, "[0]", "maximum"},
		{`[{"name": "SA", "min": 4, "max": 3}]`, "[0]", "min 4 is above max 3"},
		{`[{"name": "solubility", "max": 4}]`, "[0]", "'QED', 'plogP'"},
		{`[{"name": "SA", "max": 3}, {"name": "substructure", "smarts": "[#6", "min": 1}]`, "[1]", "syntax error"},
		{`[{"name": "novelty", "min": 0.3}]`, "[0]", "no sample of the molecules"},
		{`[` + strings.Repeat(`{"name": "SA", "max": 4},`, 16) + `{"name": "SA", "max": 4}]`, "", "1 to 16 terms"},
	} {
		var filters objective.Filters
		path := ""
		message := ""
		var bad *wire.Mismatch
		err := json.Unmarshal([]byte(c.text), &filters)
		if errors.As(err, &bad) {
			path = (&fault.Error{Path: bad.Path}).Field()
			message = bad.Message
		} else if err == nil {
			_, err = filters.Open(nil, nil, nil)
			if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
				path = f.Field()
				message = f.Message
			}
		}
		if path != c.path || !strings.Contains(message, c.message) {
			t.Errorf("%s: at %q %q (%v), want at %q %q", c.text, path, message, err, c.path, c.message)
		}
	}
}

func TestWantedValues(t *testing.T) {
	var wanted objective.Wanted
	if err := json.Unmarshal([]byte(`["SA", "PAINS", "heavy_atoms", "novelty"]`), &wanted); err != nil {
		t.Fatal(err)
	}
	known := read(t, chem.FactFingerprint, catechol)
	valuer, err := wanted.Open(chem.NewSample([]chem.Fingerprint{known[0].Fingerprint()}, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	molecules := read(t, valuer.Facts(), catechol)
	values, err := valuer.Values(t.Context(), molecules)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(values)
	var back []map[string]*float64
	if err != nil || json.Unmarshal(text, &back) != nil {
		t.Fatalf("%s %v", text, err)
	}
	if *back[0]["SA"] != molecules[0].SA() || *back[0]["PAINS"] != 1 || *back[0]["novelty"] != 0 {
		t.Errorf("%s", text)
	}
	heavy, novelty := strings.Index(string(text), "heavy"), strings.Index(string(text), "novelty")
	if !strings.HasPrefix(string(text), `[{"SA":`) || heavy > novelty {
		t.Errorf("not in the order of the request: %s", text)
	}
	none, err := json.Marshal(objective.Values{{Name: "SA", Value: math.NaN()}, {Name: "MW", Value: 1}})
	if err != nil || string(none) != `{"SA":null,"MW":1}` {
		t.Errorf("%s %v", none, err)
	}
	if alerts := valuer.Alerts(molecules[0]); !slices.Equal(alerts, []string{"PAINS catechol_A(92)"}) {
		t.Errorf("alerts %v", alerts)
	}
	for text, message := range map[string]string{
		`"SA"`: "list", `[3]`: "string", `["similarity"]`: "a score is one of", `["SA", "SA"]`: "twice",
		`[` + strings.Repeat(`"SA",`, 1<<16) + `"SA"]`: "at most 16 scores",
	} {
		err := json.Unmarshal([]byte(text), &wanted)
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if _, err := (objective.Wanted{"novelty"}).Open(nil, nil); err == nil || fault.As(err).Field() != "[0]" {
		t.Errorf("novelty without a sample: %v", err)
	}
}
