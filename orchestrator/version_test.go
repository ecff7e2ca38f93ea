package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"retort/orchestrator/manifest"
)

// printVersion returns what retort version prints for a model repository.
func printVersion(t *testing.T, repository string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), append([]string{"version", "--model-repository", repository}, args...), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestVersionNamesTheEntries(t *testing.T) {
	repository := t.TempDir()
	if err := os.MkdirAll(filepath.Join(repository, "one"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := `parameters { key: "model_id" value { string_value: "tests/one" } }`
	if err := os.WriteFile(filepath.Join(repository, "one/config.pbtxt"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	entries, err := manifest.Read(repository)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	text := printVersion(t, repository)
	if line := "one  tests/one  sha256:" + entries[0].SHA256 + "  unlisted\n"; !strings.HasSuffix(text, line) {
		t.Errorf("output %q does not end with %q", text, line)
	}
	var info versionInfo
	if err := json.Unmarshal([]byte(printVersion(t, repository, "--json")), &info); err != nil {
		t.Fatal(err)
	}
	if info.Version != version || info.Commit == "" || !strings.HasPrefix(info.Go, "go1.") ||
		len(info.Models) != 1 || info.Models[0] != entries[0] {
		t.Errorf("%+v", info)
	}
}

func TestVersionWithoutARepository(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	lines := strings.Split(strings.TrimSpace(printVersion(t, folder)), "\n")
	if last := lines[len(lines)-1]; len(lines) != 4 || last != "models: the folder "+folder+" does not exist" {
		t.Errorf("%q", lines)
	}
	if text := printVersion(t, folder, "--json"); !strings.Contains(text, `"models":null`) {
		t.Error(text)
	}
}

func TestCommitOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "abc"}
	for want, info := range map[string]*debug.BuildInfo{
		"unknown":     {},
		"abc":         {Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "false"}}},
		"abc+changes": {Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}},
	} {
		if now := commitOf(info); now != want {
			t.Errorf("commit %s, want %s", now, want)
		}
	}
	if now := commitOf(nil); now != "unknown" {
		t.Errorf("commit %s without build information, want unknown", now)
	}
	commit = "linked"
	t.Cleanup(func() { commit = "" })
	if now := commitOf(&debug.BuildInfo{Settings: []debug.BuildSetting{revision}}); now != "linked" {
		t.Errorf("commit %s, want linked, the value of the linker", now)
	}
}
