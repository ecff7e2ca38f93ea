package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// TestAnthropicClients checks what Anthropic's clients get at the main port and at the chat API's own port: their key
// in X-Api-Key, the model list in their form by their header, errors in their form with the request's id.
func TestAnthropicClients(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader := tritontest.Model{
		Config: tritontest.ConfigFile(t, "../model_repository/molecule_reader/config.pbtxt"),
		Stream: func(context.Context, *triton.Request, func(*triton.Response) error) error { return nil },
	}
	p := startWith(t, tritontest.Start(t, entry(t, "minilm_embed"), reader), "--keys-file="+file)
	p.eventually("the chat model is found", func() bool {
		status, _ := p.get("chat", "/v1/health/ready")
		return status == 200
	})
	const id = "retort/molecule-reader-v8"
	for _, test := range []struct {
		method, path string
		headers      string // "name: value" lines
		status       int
		want         string
	}{
		{"GET", "/v1/models", "X-Api-Key: alpha", 200, `"object":"list"`},
		{"GET", "/v1/models", "X-Api-Key: alpha\nanthropic-version: 2023-06-01", 200, `"display_name":"` + id + `"`},
		{"GET", "/v1/models/" + id, "X-Api-Key: alpha\nanthropic-version: 2023-06-01", 200, `"lifecycle":"active"`},
		{"GET", "/v1/models/none", "X-Api-Key: alpha\nanthropic-version: 2023-06-01", 404, `"type":"not_found_error"`},
		{"GET", "/v1/models?limit=x", "X-Api-Key: alpha\nanthropic-version: 2023-06-01", 400, `limit must be`},
		{"GET", "/v1/models?after_id=" + id, "X-Api-Key: alpha\nanthropic-version: 2023-06-01", 200, `"data":[]`},
		{"GET", "/v1/models?before_id=" + id, "X-Api-Key: alpha\nanthropic-version: 2023-06-01", 200, `"data":[]`},
		{"GET", "/v1/models", "anthropic-version: 2023-06-01", 401, "A valid key is required"},
		{"POST", "/v1/messages", "", 401, `"type":"authentication_error"`},
		{"POST", "/v1/messages", "X-Api-Key: beta", 401, `"type":"authentication_error"`},
		{"POST", "/v1/messages", "Authorization: Bearer beta\nX-Api-Key: alpha", 401, `"type":"authentication_error"`},
		{"POST", "/v1/messages", "X-Api-Key: alpha", 400, `"message":"model: Field required; messages: Field required;`},
		{"POST", "/messages", "Authorization: Bearer alpha", 400, `"type":"invalid_request_error"`},
		{"POST", "/v1/messages/batches", "X-Api-Key: alpha", 404, `"type":"not_found_error"`},
		{"POST", "/v1/messages/count_tokens", "X-Api-Key: alpha", 400, `"type":"invalid_request_error"`},
	} {
		for _, port := range []string{"main", "chat"} {
			request, err := http.NewRequest(test.method, p.ports[port]+test.path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(test.headers, "\n") {
				if name, value, found := strings.Cut(line, ": "); found {
					request.Header.Set(name, value)
				}
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
			status, text := response.StatusCode, string(body)
			if status != test.status || !strings.Contains(text, test.want) {
				t.Errorf("%s %s at %s with %q: %d %s", test.method, test.path, port, test.headers, status, text)
			}
			var answer struct {
				RequestID string `json:"request_id"`
			}
			header := response.Header.Get("Request-Id")
			if strings.Contains(text, `"type":"error"`) &&
				(json.Unmarshal([]byte(text), &answer) != nil || answer.RequestID == "" || answer.RequestID != header) {
				t.Errorf("%s %s at %s: request id %q in the header: %s", test.method, test.path, port, header, text)
			}
		}
	}
	if status, text := p.post("main", "/tokenize", "{}"); status != 404 {
		t.Errorf("/tokenize of the main port: %d %s", status, text)
	}
}
