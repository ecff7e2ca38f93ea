package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The skill needs no key, and only its files are served; the indexes need a key.
func TestAgentRoutes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--keys-file="+file)
	for _, test := range []struct {
		method, path string
		status       int
		want         string // in the header Content-Type or the body
	}{
		{"GET", "/skills/retort/SKILL.md", 200, "text/markdown; charset=utf-8"},
		{"GET", "/skills/retort/SKILL.md", 200, "name: retort"},
		{"GET", "/skills/retort/scripts/service.py", 200, "text/plain; charset=utf-8"},
		{"HEAD", "/skills/retort/scripts/rank.py", 200, ""},
		{"GET", "/skills", 404, ""},
		{"GET", "/skills/retort/scripts/", 404, `"error":{`},
		{"GET", "/skills/retort/none.py", 404, `"error":{`},
		{"GET", "/skills/..%2f..%2f..%2fllms.go", 404, `"error":{`},
		{"GET", "/skills/retort/%00", 404, `"error":{`},
		{"POST", "/skills/retort/SKILL.md", 405, ""},
		{"GET", "/skillset", 404, ""},
		{"GET", "/llms.txt", 401, `"error":{`},
		{"GET", "/latent/llms.txt", 401, ""},
		{"GET", "/jobs/llms.txt", 401, ""},
	} {
		request, err := http.NewRequest(test.method, p.ports["main"]+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := response.Header.Get("Content-Type") + "\n" + string(body)
		if response.StatusCode != test.status || !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %d %.300s", test.method, test.path, response.StatusCode, got)
		}
	}
}
