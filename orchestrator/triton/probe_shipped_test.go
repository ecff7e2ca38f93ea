package triton_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// Every shipped model answers its probe, so that later errors say something about it.
func TestShippedModelsAnswerProbes(t *testing.T) {
	url, repository := os.Getenv("RETORT_TEST_TRITON_URL"), os.Getenv("RETORT_TEST_TRITON_REPOSITORY")
	if url == "" || repository == "" {
		t.Skip("RETORT_TEST_TRITON_URL names no Triton")
	}
	client := tritontest.Dial(t, triton.Config{URLs: []string{url}})
	admin := tritontest.NewAdmin(t, url)
	models, err := filepath.Glob(filepath.Join(repository, "*", "config.pbtxt"))
	if err != nil || len(models) == 0 {
		t.Fatalf("no models in %s: %v", repository, err)
	}
	for _, path := range models {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			if err := admin.Load(t.Context(), name, ""); err != nil {
				t.Skip(err) // a model of another test, or one whose weights are not there
			}
			t.Cleanup(func() { _ = admin.Unload(context.Background(), name) })
			if err := triton.ProbeOften(t.Context(), client, name); err != nil {
				t.Fatal(err)
			}
		})
	}
}
