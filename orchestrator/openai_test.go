package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenAIFormByASetting checks that with these settings the port of an API renders errors and reads input_type as
// the /v1 of the main port does.
func TestOpenAIFormByASetting(t *testing.T) {
	p := start(t, "--embedding-errors=openai", "--ranking-errors=openai", "--embedding-input-type=lenient",
		"--embedding-tokens=refuse")
	for _, test := range []struct {
		port, path, body string
		status           int
		want             string
	}{
		{"embedding", "/v1/embeddings", `{"model":"nobody/nothing","input":"a"}`, 404, `"code":"model_not_found"`},
		{"embedding", "/v1/embeddings", `{"model":"retort/minilm-embedqa-v2","input":"a"}`, 200, `"object":"list"`},
		{
			"embedding", "/v1/embeddings",
			`{"model":"sentence-transformers/all-MiniLM-L6-v2","input":"a","input_type":"query"}`,
			200, `"object":"list"`,
		},
		{
			"embedding", "/v1/embeddings", `{"model":"sentence-transformers/all-MiniLM-L6-v2","input":[[2170]]}`,
			400, `"param":"input[0]"`,
		},
		{"ranking", "/v1/ranking", `{"query":"q","passages":[]}`, 400, `"code":"invalid_type"`},
	} {
		status, text := p.post(test.port, test.path, test.body)
		if status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%s %s: %d %s", test.port, test.body, status, text)
		}
	}
}

// TestKeysOpenTheMainPort checks that the base address for OpenAI's clients requires keys too, with OpenAI's errors.
func TestKeysOpenTheMainPort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--keys-file="+file, "--cors-origins=https://lab.example")
	for _, path := range []string{"/v1/models", "/v1/models/retort/minilm-embedqa-v2"} {
		if status, text := p.get("main", path); status != 401 || !strings.Contains(text, `"code":"invalid_api_key"`) {
			t.Errorf("%s without a key: %d %s", path, status, text)
		}
	}
	if status, text := p.post("main", "/v1/embeddings", `{}`); status != 401 ||
		!strings.Contains(text, `"code":"invalid_api_key"`) {
		t.Errorf("embeddings without a key: %d %s", status, text)
	}
	for _, path := range []string{"/v1/models", "/v1/embeddings"} {
		req, _ := http.NewRequest("OPTIONS", p.ports["main"]+path, nil)
		req.Header.Set("Origin", "https://lab.example")
		req.Header.Set("Access-Control-Request-Method", "POST")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Access-Control-Allow-Origin"); got != "https://lab.example" {
			t.Errorf("%s: the preflight request is answered with origin %q", path, got)
		}
	}
}
