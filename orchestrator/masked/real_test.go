package masked

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// The shipped model, on a tritonserver, makes valid molecules, and rows do not depend on other rows of their batch.
func TestShippedModel(t *testing.T) {
	url, folder := os.Getenv("RETORT_TEST_TRITON_URL"), os.Getenv("RETORT_TEST_TRITON_REPOSITORY")
	if url == "" || folder == "" {
		t.Skip("RETORT_TEST_TRITON_URL and RETORT_TEST_TRITON_REPOSITORY do not name a tritonserver")
	}
	if _, err := os.Stat(filepath.Join(folder, "masked", "config.pbtxt")); err != nil {
		t.Skip("the model repository has no model masked: ", err)
	}
	client, err := triton.Dial(triton.Config{URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := tritontest.NewAdmin(t, url).Load(t.Context(), "masked", ""); err != nil {
		t.Fatal(err)
	}
	h := serve(t, Config{}, nil, client, folder)
	const body = `{"smiles":"[*]c1ccccc1.[*{6-14}]","num_molecules":"12","temperature":"0.8","gamma":0.3,"seed":3`
	want := h.generate(body + `}`)
	if len(want) == 0 {
		t.Error("none of 12 rows is a molecule")
	}
	for _, m := range h.generate(`{"num_molecules":6,"step_size":4,"seed":1,"scores":true}`) {
		if m.Scores.Weight < 12 {
			t.Errorf("%s weighs %v", m.SMILES, m.Scores.Weight)
		}
	}
	done := make(chan []Molecule, 2)
	for range 2 {
		go func() { done <- h.generate(body + `}`) }()
	}
	for range 2 {
		if got := <-done; !slices.Equal(got, want) {
			t.Errorf("concurrent requests with the same seed give %v, want %v", got, want)
		}
	}
}
