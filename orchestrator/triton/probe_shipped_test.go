package triton

import (
	"os"
	"path/filepath"
	"testing"
)

// Every shipped model answers its probe, so that later errors say something about it.
func TestShippedModelsAnswerProbes(t *testing.T) {
	url, repository := os.Getenv("RETORT_TEST_TRITON_URL"), os.Getenv("RETORT_TEST_TRITON_REPOSITORY")
	if url == "" || repository == "" {
		t.Skip("RETORT_TEST_TRITON_URL names no Triton")
	}
	client, err := Dial(Config{URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	models, err := filepath.Glob(filepath.Join(repository, "*", "config.pbtxt"))
	if err != nil || len(models) == 0 {
		t.Fatalf("no models in %s: %v", repository, err)
	}
	for _, path := range models {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			if err := client.Admin().Load(t.Context(), name, nil); err != nil {
				t.Skip(err) // a model of another test, or one whose weights are not there
			}
			t.Cleanup(func() { _ = client.Admin().Unload(t.Context(), name) })
			h := &health{}
			for range 20 {
				if err := client.pool.live()[0].probeOnce(t.Context(), name, h); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
