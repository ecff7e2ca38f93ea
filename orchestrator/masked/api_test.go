package masked

import (
	"testing"

	"github.com/go-json-experiment/json"
)

// TestPlainAnswer wants the documented members and no others where scores were not asked for.
func TestPlainAnswer(t *testing.T) {
	got, err := json.Marshal(Response{Status: "success", Molecules: []Molecule{}}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"status":"success","molecules":[]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
