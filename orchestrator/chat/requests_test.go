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
	"net/http"
	"strings"
	"testing"
)

func (s *stand) get(path string) (int, string) {
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

func (s *stand) post(path string, body any) (int, string) {
	s.t.Helper()
	res, err := http.Post(s.url+path, "application/json", encoded(s.t, body))
	if err != nil {
		s.t.Fatal(err)
	}
	return read(s.t, res)
}

func encoded(t testing.TB, body any) io.Reader {
	if text, ok := body.(string); ok {
		return strings.NewReader(text)
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(data)
}

// answered posts what must succeed and decodes the answer.
func answered[T any](s *stand, path string, body any) (out T) {
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
func (s *stand) events(path string, body any) (events []string) {
	s.t.Helper()
	res, err := http.Post(s.url+path, "application/json", encoded(s.t, body))
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
			s.t.Errorf("no line of a stream: %q", lines.Text())
		}
	}
	return events
}

type object = map[string]any

// said is a request whose model says these pieces.
func said(model string, extra object, pieces ...string) object {
	text, _ := json.Marshal(object{"say": pieces})
	return told(model, string(text), extra)
}

// told is a request with a script.
func told(model, script string, extra object) object {
	return asked(model, "script "+script, extra)
}

func asked(model string, content any, extra object) object {
	body := object{"model": model, "messages": []any{object{"role": "user", "content": content}}}
	for name, value := range extra {
		body[name] = value
	}
	return body
}

// drawing is a small PNG as a data URL.
func drawing(width, height int, c color.Color) string {
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
