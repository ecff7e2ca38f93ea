package command_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestJSONLOfArbitraryBytes writes names and values that are not UTF-8, and resumes the output.
func TestJSONLOfArbitraryBytes(t *testing.T) {
	describe := []string{"describe"}
	for name, c := range map[string]struct {
		text string
		args []string
		want string
	}{
		"Latin-1 table": {
			"SMILES,Aktivit\xe4t,\xe4\xf6,\"a\\\"\"b\",\"tab\t\x07\"\nCCO,5\xb5M,1,2,3\nCCN,6\xb5M,1,2,3\nCCC,,,,\n",
			append(describe, "--keep", "all"),
			`{"line":2,"input":"CCO","name":"",` +
				`"Aktivit\ufffdt":"5\ufffdM","\ufffd\ufffd":"1","a\\\"b":"2","tab\t\u0007":"3",`,
		},
		"JSONL with a member that is a list": {
			"{\"smiles\":\"CCO\",\"more\":[\"\xe4\xf6\"],\"t\xe4g\":1}\n{\"smiles\":\"CCN\"}\n{\"smiles\":\"CCC\"}\n",
			append(describe, "--keep", "more"),
			"{\"line\":1,\"input\":\"CCO\",\"name\":\"\",\"more\":[\"\ufffd\ufffd\"],",
		},
		"Latin-1 texts": {
			"caf\xe9\ncr\xe8\xe9\nth\xe9\n",
			[]string{"embed-text", "--model", "m", "--url", startEmbedding(t), "--input-format", "lines"},
			`{"line":1,"input":"caf\ufffd","name":"","embedding":[6]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(c.args, "-f", "jsonl")
			complete := run(t, c.text, args...)
			if complete.code != 0 || !strings.Contains(complete.out, c.want) || !utf8.ValidString(complete.out) {
				t.Fatalf("no %q in %+v", c.want, complete)
			}
			for line := range strings.Lines(complete.out) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
			for cut := 0; cut <= len(complete.out); cut += 17 {
				file := filepath.Join(t.TempDir(), "out.jsonl")
				if err := os.WriteFile(file, []byte(complete.out[:cut]), 0o600); err != nil {
					t.Fatal(err)
				}
				got := run(t, c.text, append(args, "-o", file, "--resume")...)
				after, err := os.ReadFile(file)
				if err != nil || got.code != 0 || string(after) != complete.out {
					t.Fatalf("cut at %d: %+v %v\n%s", cut, got, err, after)
				}
			}
		})
	}
}

// startEmbedding starts an embedding API whose vector of a text is its length.
func startEmbedding(t *testing.T) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		var data []string
		for _, text := range body.Input {
			data = append(data, fmt.Sprintf(`{"embedding":[%d]}`, len(text)))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}
