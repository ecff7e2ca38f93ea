package manifest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"retort/orchestrator/manifest"
)

const shipped = "../../model_repository"

// The digests of the shipped entries equal the latest ones that scripts/lint/manifest.py has written to manifest.json.
func TestShippedEntries(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(shipped, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Entries map[string]struct {
			ID string `json:"id"`
		} `json:"entries"`
		IDs map[string]map[string][]struct {
			Digest string `json:"digest"`
		} `json:"ids"`
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, e := range read(t, shipped) {
		digests[e.Name] = e.SHA256
		want, known := recorded.Entries[e.Name]
		if !known { // an imported model
			continue
		}
		if e.ID != want.ID || e.State != manifest.Recorded {
			t.Errorf("%s: got %+v, want id %s and state recorded", e.Name, e, want.ID)
		}
	}
	for name, want := range recorded.Entries {
		history := recorded.IDs[want.ID][name]
		if latest := history[len(history)-1].Digest; digests[name] != latest {
			t.Errorf("%s: digest %q, want %s", name, digests[name], latest)
		}
	}
}

// A digest depends on the files that may affect the results of the entry, and on no others.
func TestDigest(t *testing.T) {
	repository := t.TempDir()
	write(t, repository, "one/config.pbtxt", `name: "one" parameters { key: "model_id" value { string_value: "tests/one" } }`)
	write(t, repository, "one/1/model.onnx", "weights")
	write(t, repository, "README.md", "no entry")
	original := read(t, repository)[0]
	if original.Name != "one" || original.ID != "tests/one" || original.State != manifest.Unlisted {
		t.Fatalf("%+v", original)
	}
	for _, file := range []string{
		"CARD.md", ".DS_Store", "1/.model.py.swp", "1/__pycache__/model.pyc", ".cache/blob", "Thumbs.db",
	} {
		write(t, repository, "one/"+file, "anything")
	}
	if now := read(t, repository)[0]; now != original {
		t.Errorf("pages and hidden files change the digest: %+v", now)
	}
	seen := []string{original.SHA256}
	for _, change := range [][2]string{
		{"1/model.onnx", "other weights"}, {"1/model.py", "new"}, {"2/model.onnx", "other weights"},
	} {
		write(t, repository, "one/"+change[0], change[1])
		now := read(t, repository)[0].SHA256
		if slices.Contains(seen, now) {
			t.Errorf("%s does not change the digest", change[0])
		}
		seen = append(seen, now)
	}
}

// Digests notices changed files, and a folder that cannot be read.
func TestDigests(t *testing.T) {
	repository := t.TempDir()
	folder := filepath.Join(repository, "one")
	var digests manifest.Digests
	if _, err := digests.Of(t.Context(), folder); err == nil {
		t.Error("no error without the folder")
	}
	write(t, repository, "one/config.pbtxt", "")
	for _, weights := range []string{"a", "bc", "def"} {
		write(t, repository, "one/1/model.onnx", weights)
		for range 2 {
			if digest, err := digests.Of(t.Context(), folder); err != nil || digest != read(t, repository)[0].SHA256 {
				t.Errorf("weights %s: digest %s, %v", weights, digest, err)
			}
		}
	}
}

// A caller that leaves does not wait for the digest of large files, and does not stop the others' computation.
func TestDigestsOfLargeFiles(t *testing.T) {
	repository := t.TempDir()
	write(t, repository, "one/config.pbtxt", "")
	write(t, repository, "one/1/model.onnx", "")
	folder := filepath.Join(repository, "one")
	if err := os.Truncate(filepath.Join(folder, "1", "model.onnx"), 256<<20); err != nil {
		t.Fatal(err)
	}
	var digests manifest.Digests
	left, leave := context.WithCancel(t.Context())
	leave()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if digest, err := digests.Of(left, folder); !errors.Is(err, context.Canceled) {
				t.Errorf("%q, %v", digest, err)
			}
		})
	}
	group.Wait()
	if digest, err := digests.Of(t.Context(), folder); err != nil || digest != read(t, repository)[0].SHA256 {
		t.Errorf("digest %q, %v", digest, err)
	}
}

func TestStates(t *testing.T) {
	repository := t.TempDir()
	write(t, repository, "one/config.pbtxt", "")
	entry := read(t, repository)[0]
	if entry.ID != "one" {
		t.Errorf("id %q of an entry without model_id", entry.ID)
	}
	for text, want := range map[string]manifest.State{
		`{}`: manifest.Unlisted,
		`{"ids": {"one": {"one": [{"digest": "0"}, {"digest": "` + entry.SHA256 + `"}]}}}`: manifest.Recorded,
		`{"ids": {"one": {"one": [{"digest": "0"}]}}}`:                                     manifest.Changed,
		`{"ids": {"old": {"one": [{"digest": "` + entry.SHA256 + `"}]}}}`:                  manifest.Changed,
		`{"ids": {"one": {"two": [{"digest": "` + entry.SHA256 + `"}]}}}`:                  manifest.Unlisted,
	} {
		write(t, repository, "manifest.json", text)
		if now := read(t, repository)[0].State; now != want {
			t.Errorf("manifest %s: state %s, want %s", text, now, want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	if _, err := manifest.Read(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("no repository: %v", err)
	}
	for _, file := range []string{"manifest.json", "one/config.pbtxt"} {
		repository := t.TempDir()
		write(t, repository, file, "{{")
		if entries, err := manifest.Read(repository); err == nil {
			t.Errorf("invalid %s: %v", file, entries)
		}
	}
}

func read(t *testing.T, repository string) []manifest.Entry {
	t.Helper()
	entries, err := manifest.Read(repository)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func write(t *testing.T, repository, name, text string) {
	t.Helper()
	file := filepath.Join(repository, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
