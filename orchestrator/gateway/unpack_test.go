package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// A gzip body is read like its text, and all bounds hold for the text.
func TestPackedBodies(t *testing.T) {
	url, _ := open(t, &kitchen{}, nil)
	good := zipped(t, `{"size":2}`)
	bomb := zipped(t, `{"fail":"`+strings.Repeat("x", 1<<24)+`"}`)
	tooLong := zipped(t, `{"size":2`+strings.Repeat(" ", 1<<16-9)+`}`)
	badChecksum := append(bytes.Clone(good[:len(good)-8]), "12345678"...)
	for name, c := range map[string]struct {
		encoding string
		body     []byte
		status   int
		says     string
	}{
		"packed":           {"gzip", good, 200, `"dish":"souppp"`},
		"packed, capitals": {"GZIP", good, 200, "souppp"},
		"in two members":   {"gzip", append(zipped(t, `{"size"`), zipped(t, `:2}`)...), 200, "souppp"},
		"plain":            {"identity", []byte(`{"size":2}`), 200, "souppp"},
		"a bomb":           {"gzip", bomb, 413, "larger than the limit of 65536 bytes"},
		"at the limit":     {"gzip", zipped(t, `{"size":2`+strings.Repeat(" ", 1<<16-10)+`}`), 200, "souppp"},
		"above the limit":  {"gzip", tooLong, 413, "larger than the limit"},
		"not packed":       {"gzip", []byte(`{"size":2}`), 400, "not what its Content-Encoding says"},
		"cut off":          {"gzip", good[:len(good)-9], 400, "ended before its end"},
		"a wrong checksum": {"gzip", badChecksum, 400, "not what its Content-Encoding says"},
		"nothing":          {"gzip", nil, 400, ""},
		"another encoding": {"br", good, 400, `\"br\" is not taken`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/cook", bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Encoding", c.encoding)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != c.status || !strings.Contains(string(text), c.says) {
			t.Errorf("%s: %d %s", name, response.StatusCode, text)
		}
	}
}
