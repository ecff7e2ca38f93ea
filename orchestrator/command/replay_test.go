package command_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	digestOfNothing = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // of {}
	rest            = `","request":{},"answer_sha256":"` + digestOfNothing + `"}` + "\n"
	recordedSample  = `{"format":1,"path":"/latent/sampling` + rest
	recordedJob     = `{"format":1,"path":"/latent/generate/jobs` + rest
)

// startReplays starts a service whose jobs fail, and writes a file of manifests.
func startReplays(t *testing.T, manifests string) (url, file string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /latent/sampling", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"manifest":`+strings.TrimSpace(recordedSample)+`}`)
	})
	mux.HandleFunc("POST /latent/generate/jobs", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"id":"job_1","status":"failed","error":{"message":"no oracle"}}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	file = filepath.Join(t.TempDir(), "made.jsonl")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL, file
}

// The answers of a replay are not appended to the file that it reads, which would never end.
func TestReplayIntoItsOwnFile(t *testing.T) {
	url, file := startReplays(t, recordedSample)
	link := file + ".link"
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, link} {
		r := run(t, "", "replay", file, "--url", url, "--manifest", name)
		if r.code == 0 || !strings.Contains(r.err, "made.jsonl: --manifest would append") || r.out != "" {
			t.Errorf("%s: %.500v", name, r)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != recordedSample {
		t.Errorf("the file is now %.300s, %v", text, err)
	}
	other := file + ".new"
	if r := run(t, "", "replay", file, "--url", url, "--manifest", other); r.code != 0 {
		t.Errorf("another file: %v", r)
	}
	if text, err := os.ReadFile(other); err != nil || !strings.Contains(string(text), digestOfNothing) {
		t.Errorf("%s, %v", text, err)
	}
}

// A job that fails does not stop the replay of the other documents.
func TestReplayOfAFailingJob(t *testing.T) {
	url, file := startReplays(t, recordedJob+recordedSample)
	r := run(t, "", "replay", file, "--url", url)
	const want = `1: /latent/generate/jobs: refused: job_1: status failed: {"message":"no oracle"}` + "\n" +
		"2: /latent/sampling: equal\n"
	if r.code == 0 || r.out != want || !strings.Contains(r.err, "1 of 2 answers are not equal") {
		t.Errorf("%v", r)
	}
}

// A service without manifests is named, also by a command that reads a stream.
func TestManifestOfAServiceWithout(t *testing.T) {
	service := startLatent(t)
	r := run(t, "", "optimize", "CC", "--url", service.URL, "--manifest", filepath.Join(t.TempDir(), "made.jsonl"))
	if r.code == 0 || !strings.Contains(r.err, "answers without manifests") {
		t.Errorf("%v", r)
	}
}
