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
)

// TestModelForPictures sends a picture to a model that takes images, unless the command names a model.
func TestModelForPictures(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "drawing.png")
	if err := os.WriteFile(picture, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		writer = `{"id":"lab/writer","api":"chat"}`
		reader = `{"id":"lab/reader","api":"chat","images":true}`
	)
	for name, c := range map[string]struct {
		models string
		args   []string
		want   string
	}{
		"no picture":            {writer + "," + reader, nil, "lab/writer"},
		"picture":               {writer + "," + reader, []string{"--image", picture}, "lab/reader"},
		"no model takes images": {writer, []string{"--image", picture}, "lab/writer"},
		"named model":           {writer + "," + reader, []string{"-i", picture, "--model=lab/writer"}, "lab/writer"},
	} {
		var body struct{ Model string }
		mux := http.NewServeMux()
		list := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"data":[%s]}`, c.models) }
		mux.HandleFunc("GET /v1/models", list)
		mux.HandleFunc("GET /chat/v1/models", list)
		mux.HandleFunc("POST /chat/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"C\"}}]}\n\ndata: [DONE]\n\n")
		})
		server := httptest.NewServer(mux)
		got := run(t, "", append([]string{"chat", "What is it?", "--url", server.URL}, c.args...)...)
		server.Close()
		if got.code != 0 || got.out != "C\n" || body.Model != c.want {
			t.Errorf("%s: %+v from model %q, want %q", name, got, body.Model, c.want)
		}
	}
}

func TestLongQuestion(t *testing.T) {
	mux := http.NewServeMux()
	list := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"id":"m","api":"chat"}]}`) }
	mux.HandleFunc("GET /v1/models", list)
	mux.HandleFunc("GET /chat/v1/models", list)
	mux.HandleFunc("POST /chat/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"C\"}}]}\n\ndata: [DONE]\n\n")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for length, code := range map[int]int{1 << 20: 0, 1<<20 + 1: 1} {
		got := run(t, strings.Repeat("x", length), "chat", "--url", server.URL)
		if got.code != code || strings.Contains(got.err, "more than 1048576 bytes") != (code == 1) {
			t.Errorf("%d bytes: %+v", length, got)
		}
	}
}
