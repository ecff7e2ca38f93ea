package triton_test

import (
	"os"
	"path/filepath"
	"testing"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

func TestConformanceOfFake(t *testing.T) {
	tritontest.Conformance(t, tritontest.Fake(t), triton.InFlight)
}

// TestConformanceOfReal runs the suite on a real tritonserver: see tritontest.Real.
func TestConformanceOfReal(t *testing.T) {
	tritontest.Conformance(t, tritontest.Real(t), triton.InFlight)
}

// Every shipped model must answer its probe, since the verdict on later errors depends on it. The models stay loaded,
// because later tests use the same server.
func TestShippedModelsAnswerProbes(t *testing.T) {
	url := os.Getenv("RETORT_TEST_TRITON_URL")
	if url == "" {
		t.Skip("RETORT_TEST_TRITON_URL names no Triton")
	}
	client := tritontest.Dial(t, triton.Config{URLs: []string{url}})
	admin := tritontest.NewAdmin(t, url)
	models, err := filepath.Glob("../../model_repository/*/config.pbtxt")
	if err != nil || len(models) == 0 {
		t.Fatalf("no models in model_repository: %v", err)
	}
	for _, path := range models {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			if err := admin.Load(t.Context(), name, ""); err != nil {
				t.Fatal(err)
			}
			if err := triton.ProbeOften(t.Context(), client, name); err != nil {
				t.Fatal(err)
			}
		})
	}
}
