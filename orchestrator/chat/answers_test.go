package chat_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image/color"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the answers into testdata/answers")

// TestAnswers sends the requests in testdata/answers and compares the answers. In a file, a line "> METHOD path" begins
// a request, and the lines below it are its body. A line "< status" begins the expected answer: JSON, indented if it is
// long, or the lines of a stream. Lines that begin with # are comments. In a body, {{drawing W H GRAY}} is the data URL
// of a PNG file in one gray, and {{file NAME}} that of a file of vision/testdata. In an answer, ID and NOW replace
// values that differ each time. go test -run TestAnswers -update rewrites the answers.
func TestAnswers(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	files, err := filepath.Glob("testdata/answers/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := (&testServer{t: t, url: s.url}).replay(string(data))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(data) && !*update {
				t.Errorf("%s\n%s", file, firstDifference(string(data), got))
			}
		})
	}
}

// firstDifference returns the first line that differs, with its request.
func firstDifference(want, got string) string {
	wantLines := strings.Split(want, "\n")
	gotLines := strings.Split(got, "\n")
	request := ""
	for i := range min(len(wantLines), len(gotLines)) {
		if strings.HasPrefix(wantLines[i], "> ") {
			request = strings.Join(wantLines[i:min(i+2, len(wantLines))], "\n")
		}
		if wantLines[i] != gotLines[i] {
			return fmt.Sprintf("%s\nline %d\ngot  %s\nwant %s", request, i+1, gotLines[i], wantLines[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(gotLines), len(wantLines))
}

// replay sends the requests of a file and returns the file with their answers.
func (s *testServer) replay(file string) string {
	s.t.Helper()
	var out strings.Builder
	var method, path, body string
	answer := false // the lines below are the expected answer, which replay drops
	for line := range strings.Lines(file) {
		switch {
		case strings.HasPrefix(line, "> "):
			var found bool
			if method, path, found = strings.Cut(strings.TrimSpace(line[2:]), " "); !found {
				s.t.Fatalf("not a request: %s", line)
			}
			body = ""
			answer = false
		case strings.HasPrefix(line, "< ") || strings.TrimSpace(line) == "<":
			answer = true
			out.WriteString(s.answer(method, path, body) + "\n")
			continue
		case strings.HasPrefix(line, "#"):
			answer = false
		case !answer:
			body += line
		}
		if !answer {
			out.WriteString(line)
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// answer sends one request and returns the answer as text.
func (s *testServer) answer(method, path, body string) string {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(s.expand(strings.TrimSpace(body))))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	status, text := read(s.t, res)
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	head := fmt.Sprintf("< %d %s\n", status, kind)
	text = randomID.ReplaceAllString(text, "${1}ID")
	text = requestID.ReplaceAllString(text, `"request_id":"ID"`)
	text = created.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasSuffix(found, "1760000000") { // from a model's entry
			return found
		}
		return found[:strings.IndexByte(found, ':')+1] + "NOW"
	})
	var indented bytes.Buffer
	quoted := strings.ReplaceAll(text, `:NOW`, `:"NOW"`)
	if len(text) > 600 && json.Indent(&indented, []byte(quoted), "", "  ") == nil {
		text = strings.ReplaceAll(indented.String(), `"NOW"`, "NOW")
	}
	return head + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n\n", "\n") + "\n"
}

var (
	randomID    = regexp.MustCompile(`([-_])[0-9a-f]{32}\b`)
	requestID   = regexp.MustCompile(`"request_id":"[A-Z2-7]{26}"`)
	created     = regexp.MustCompile(`"(?:created|created_at|completed_at)":\d+`)
	placeholder = regexp.MustCompile(`\{\{(\w+) ([^}]*)\}\}`)
)

// expand replaces the placeholders of a body by data URLs.
func (s *testServer) expand(body string) string {
	return placeholder.ReplaceAllStringFunc(body, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		words := strings.Fields(parts[2])
		switch parts[1] {
		case "drawing":
			width, _ := strconv.Atoi(words[0])
			height, _ := strconv.Atoi(words[1])
			gray, _ := strconv.Atoi(words[2])
			return pngURL(width, height, color.Gray{Y: uint8(gray)})
		case "file":
			return fixtureURL(s.t, words[0])
		}
		s.t.Fatalf("unknown placeholder %s", found)
		return ""
	})
}
