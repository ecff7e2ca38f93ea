package masked

import (
	"testing"

	"github.com/go-json-experiment/json"
)

// An answer without scores has only the documented members.
func TestAnswerWithoutScores(t *testing.T) {
	got, err := json.Marshal(Response{Status: "success", Molecules: []Molecule{}}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"status":"success","molecules":[]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHeavy(t *testing.T) {
	for _, test := range []struct {
		change func(*Request)
		heavy  bool
	}{
		{func(*Request) {}, false},
		{func(r *Request) { r.NumMolecules = 31 }, true},
		{func(r *Request) { r.Rounds = 1 }, true},
		{func(r *Request) { r.Smiles = &Template{masks: []maskRange{{least: 5, most: 50}}} }, false},
		{func(r *Request) { r.Smiles = &Template{masks: make([]maskRange, 250)} }, false},
		{func(r *Request) { r.Smiles = &Template{masks: []maskRange{{1, 50}, {1, 50}}} }, true},
	} {
		var r Request
		r.SetDefaults()
		test.change(&r)
		if r.Heavy() != test.heavy {
			t.Errorf("%+v: heavy is %v, want %v", r, r.Heavy(), test.heavy)
		}
	}
}
