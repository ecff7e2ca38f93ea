package chat_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
)

func (s *testServer) get(path string) (int, string) {
	s.t.Helper()
	res, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	return read(s.t, res)
}

func read(t testing.TB, res *http.Response) (int, string) {
	t.Helper()
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (s *testServer) post(path string, body any) (int, string) {
	s.t.Helper()
	res, err := http.Post(s.url+path, "application/json", jsonBody(s.t, body))
	if err != nil {
		s.t.Fatal(err)
	}
	return read(s.t, res)
}

// jsonBody returns a string as it is, and any other value as JSON.
func jsonBody(t testing.TB, body any) io.Reader {
	if text, ok := body.(string); ok {
		return strings.NewReader(text)
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(data)
}

// postOK posts a request that must succeed and decodes the answer.
func postOK[T any](s *testServer, path string, body any) (out T) {
	s.t.Helper()
	status, text := s.post(path, body)
	if status != http.StatusOK {
		s.t.Fatalf("%d: %s", status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return out
}

// events posts a request for a stream and returns the data of its events.
func (s *testServer) events(path string, body any) (events []string) {
	s.t.Helper()
	res, err := http.Post(s.url+path, "application/json", jsonBody(s.t, body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		_, text := read(s.t, res)
		s.t.Fatalf("%d %s: %s", res.StatusCode, kind, text)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case found:
			events = append(events, data)
		case lines.Text() != "" && !strings.HasPrefix(lines.Text(), ":"):
			s.t.Errorf("unexpected line in a stream: %q", lines.Text())
		}
	}
	return events
}

type object = map[string]any

// piecesRequest returns a request that the model answers with pieces.
func piecesRequest(model string, extra object, pieces ...string) object {
	text, _ := json.Marshal(object{"say": pieces})
	return scriptRequest(model, string(text), extra)
}

// scriptRequest returns a request with a script for the model (testdata/scripted/model.py).
func scriptRequest(model, script string, extra object) object {
	return newRequest(model, "script "+script, extra)
}

// newRequest returns a request with one user message and extra members.
func newRequest(model string, content any, extra object) object {
	body := object{"model": model, "messages": []any{object{"role": "user", "content": content}}}
	maps.Copy(body, extra)
	return body
}

// pngURL returns a PNG file in one color as a data URL.
func pngURL(width, height int, c color.Color) string {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		img.Set(i%width, i/width, c)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

func imagePart(url string) object {
	return object{"type": "image_url", "image_url": object{"url": url}}
}

func textPart(text string) object { return object{"type": "text", "text": text} }
